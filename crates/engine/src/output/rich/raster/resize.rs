//! Scales pictures down: each new pixel is the mean of the area it covers.
//!
//! A target pixel is the mean of the source pixels under it; those at its edges count in part. Sums are whole numbers:
//! each side is divided into parts such that a pixel of either picture is a whole number of parts. Colours are weighted
//! by their alpha, so that invisible pixels leave no fringe.

use super::{PixelLayout, Raster};

pub(super) fn resize(source: &Raster, width: u32, height: u32) -> Raster {
    if (source.width, source.height) == (width, height) {
        return source.clone();
    }
    let samples = match source.layout {
        PixelLayout::Grey => scale::<1>(source, width, height),
        PixelLayout::Rgb => scale::<3>(source, width, height),
        PixelLayout::Rgba => scale::<4>(source, width, height),
    };
    Raster { width, height, layout: source.layout, samples }
}

/// The source pixels under one target pixel, along one side, and the covered parts of the first and the last.
struct Cover {
    first: usize,
    last: usize,
    first_parts: u64,
    last_parts: u64,
}

/// A source pixel has as many parts as there are target pixels, and the other way around.
fn covers(source: u32, target: u32) -> Vec<Cover> {
    let (source, target) = (u64::from(source), u64::from(target));
    let cover = |at: u64| {
        let (start, end) = (at * source, (at + 1) * source);
        let (first, last) = (start / target, (end - 1) / target);
        Cover {
            first: first as usize,
            last: last as usize,
            first_parts: end.min((first + 1) * target) - start,
            last_parts: if first == last { 0 } else { end - last * target },
        }
    };
    (0..target).map(cover).collect()
}

impl Cover {
    /// The covered parts of one source pixel, each of which has `all` parts.
    fn parts(&self, at: usize, all: u64) -> u64 {
        match at {
            _ if at == self.first => self.first_parts,
            _ if at == self.last => self.last_parts,
            _ => all,
        }
    }
}

/// The share of a pixel in a sum: its alpha, and its colours weighted by the alpha.
fn weigh<const N: usize>(pixel: &[u8; N]) -> [u64; N] {
    let alpha = if N == 4 { u64::from(pixel[N - 1]) } else { 1 };
    std::array::from_fn(|at| {
        let sample = u64::from(pixel[at]);
        if N == 4 && at == 3 { sample } else { sample * alpha }
    })
}

fn add<const N: usize>(sum: &mut [u64; N], other: &[u64; N], times: u64) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other * times;
    }
}

/// The sums of one source row under each target column.
fn sum_row<const N: usize>(
    row: &[[u8; N]],
    columns: &[Cover],
    parts: u64,
    sums: &mut Vec<[u64; N]>,
) {
    sums.clear();
    sums.extend(columns.iter().map(|cover| {
        let mut sum = [0; N];
        for pixel in row.get(cover.first + 1..cover.last).unwrap_or_default() {
            add(&mut sum, &weigh(pixel), 1);
        }
        sum = sum.map(|sum| sum * parts);
        add(&mut sum, &weigh(&row[cover.first]), cover.first_parts);
        add(&mut sum, &weigh(&row[cover.last]), cover.last_parts);
        sum
    }));
}

fn mean<const N: usize>(sum: &[u64; N], parts: u64) -> [u8; N] {
    let divide = |sum: u64, by: u64| {
        let rounded = (sum + by / 2).checked_div(by).unwrap_or(0);
        u8::try_from(rounded).unwrap_or(u8::MAX)
    };
    std::array::from_fn(|at| match (N, at) {
        (4, 0..=2) => divide(sum[at], sum[N - 1]),
        _ => divide(sum[at], parts),
    })
}

fn scale<const N: usize>(source: &Raster, width: u32, height: u32) -> Vec<u8> {
    let (pixels, _) = source.samples.as_chunks::<N>();
    let columns = covers(source.width, width);
    let mut samples = Vec::with_capacity(width as usize * height as usize * N);
    let mut sums = vec![[0; N]; columns.len()];
    let mut row_sums = Vec::with_capacity(columns.len());
    // A row at the edge of two target rows is summed once.
    let mut summed = None;
    for rows in covers(source.height, height) {
        sums.fill([0; N]);
        for at in rows.first..=rows.last {
            if summed != Some(at) {
                let start = at * source.width as usize;
                let row = &pixels[start..start + source.width as usize];
                sum_row(row, &columns, width.into(), &mut row_sums);
                summed = Some(at);
            }
            let parts = rows.parts(at, height.into());
            for (sum, row_sum) in sums.iter_mut().zip(&row_sums) {
                add(sum, row_sum, parts);
            }
        }
        let parts = u64::from(source.width) * u64::from(source.height);
        samples.extend(sums.iter().flat_map(|sum| mean(sum, parts)));
    }
    samples
}
