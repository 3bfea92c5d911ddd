//! Reduction of a picture to at most 256 colours.
//!
//! Owns the choice of colours. A picture with few colours keeps them, as most charts do. For other pictures
//! the palette splits the colours where they differ most.

use std::collections::HashMap;

use inkcell_engine::output::raster::Raster;

/// Most colours in a palette. A picture with more is reduced.
const MAX_COLOURS: usize = 256;

/// Bits kept of each channel if a picture has too many colours.
const BITS: u32 = 5;

type Colour = [u8; 3];

/// The palette of a picture, and the palette index of each pixel.
pub(super) fn reduced(pixels: &Raster) -> (Vec<Colour>, Vec<u8>) {
    exact(pixels).unwrap_or_else(|| divided(pixels))
}

fn colours_of(pixels: &Raster) -> impl Iterator<Item = Colour> + '_ {
    pixels.pixels().map(|[red, green, blue, _]| [red, green, blue])
}

fn exact(pixels: &Raster) -> Option<(Vec<Colour>, Vec<u8>)> {
    let mut numbers: HashMap<Colour, u8> = HashMap::new();
    let mut colours = Vec::new();
    let mut which = Vec::with_capacity(pixels.width() as usize * pixels.height() as usize);
    for colour in colours_of(pixels) {
        let number = match numbers.get(&colour) {
            Some(number) => *number,
            None if colours.len() == MAX_COLOURS => return None,
            None => {
                let number = u8::try_from(colours.len()).ok()?;
                colours.push(colour);
                numbers.insert(colour, number);
                number
            }
        };
        which.push(number);
    }
    Some((colours, which))
}

/// Similar colours, with the sum of their channels and the number of their pixels.
#[derive(Clone, Copy)]
struct Bin {
    key: [u8; 3],
    sum: [u64; 3],
    count: u64,
}

fn key(colour: Colour) -> [u8; 3] {
    colour.map(|part| part >> (8 - BITS))
}

fn divided(pixels: &Raster) -> (Vec<Colour>, Vec<u8>) {
    let mut bins: HashMap<[u8; 3], Bin> = HashMap::new();
    for colour in colours_of(pixels) {
        let key = key(colour);
        let bin = bins.entry(key).or_insert(Bin { key, sum: [0; 3], count: 0 });
        bin.count += 1;
        for (sum, part) in bin.sum.iter_mut().zip(colour) {
            *sum += u64::from(part);
        }
    }
    let mut all: Vec<Bin> = bins.into_values().collect();
    // Sort, so that the same picture always gives the same palette.
    all.sort_unstable_by_key(|bin| bin.key);
    let mut groups = vec![all];
    while groups.len() < MAX_COLOURS {
        let Some((at, part)) = widest(&groups) else { break };
        let mut group = groups.swap_remove(at);
        group.sort_by_key(|bin| bin.key[part]);
        let half = group.iter().map(|bin| bin.count).sum::<u64>() / 2;
        let mut seen = 0;
        let middle = group.iter().position(|bin| {
            seen += bin.count;
            seen > half
        });
        let cut = middle.unwrap_or(0).clamp(1, group.len() - 1);
        let rest = group.split_off(cut);
        groups.extend([group, rest]);
    }
    let mut numbers: HashMap<[u8; 3], u8> = HashMap::new();
    let mut colours = Vec::with_capacity(groups.len());
    for (number, group) in (0u8..=u8::MAX).zip(&groups) {
        let count = group.iter().map(|bin| bin.count).sum::<u64>().max(1);
        let mean = |part: usize| {
            let sum: u64 = group.iter().map(|bin| bin.sum[part]).sum();
            u8::try_from((sum + count / 2) / count).unwrap_or(u8::MAX)
        };
        colours.push([mean(0), mean(1), mean(2)]);
        numbers.extend(group.iter().map(|bin| (bin.key, number)));
    }
    let which = colours_of(pixels).map(|colour| numbers.get(&key(colour)).copied().unwrap_or(0));
    (colours, which.collect())
}

/// The group with the widest spread of colours, weighted by pixels, and the channel of that spread.
fn widest(groups: &[Vec<Bin>]) -> Option<(usize, usize)> {
    let spread = |group: &[Bin], part: usize| {
        let parts = || group.iter().map(|bin| u64::from(bin.key[part]));
        parts().max().unwrap_or(0) - parts().min().unwrap_or(0)
    };
    let weights = groups.iter().enumerate().flat_map(|(at, group)| {
        let count: u64 = group.iter().map(|bin| bin.count).sum();
        (0..3).map(move |part| (spread(group, part) * count.isqrt(), at, part))
    });
    let (weight, at, part) = weights.max_by_key(|(weight, ..)| *weight)?;
    (weight > 0).then_some((at, part))
}
