//! Pictures as sixels: bands of six rows, one colour at a time.
//!
//! Owns the encoding. It must not know the origin of a picture. `palette` chooses the colours.

use inkcell_engine::output::raster::Raster;

use super::palette;

/// Shorter runs cost less when written out than as a repetition.
const SHORT_RUN: usize = 3;

/// The sequence that draws these pixels at the cursor.
pub(super) fn bytes(pixels: &Raster) -> Vec<u8> {
    let (wide, high) = (pixels.width(), pixels.height());
    let (colours, which) = palette::reduced(pixels);
    let mut out = format!("\u{1b}P0;1;0q\"1;1;{wide};{high}");
    for (number, colour) in colours.iter().enumerate() {
        let [red, green, blue] = colour.map(|value| (u32::from(value) * 100 + 127) / 255);
        out.push_str(&format!("#{number};2;{red};{green};{blue}"));
    }
    let wide = wide as usize;
    for (at, band) in which.chunks(wide.max(1) * 6).enumerate() {
        if at > 0 {
            out.push('-');
        }
        push_band(&mut out, band, wide, colours.len());
    }
    out.push_str("\u{1b}\\");
    out.into_bytes()
}

/// Encodes a band of six rows: for each colour in it, the pixels of that colour.
fn push_band(out: &mut String, band: &[u8], wide: usize, colours: usize) {
    let mut is_used = vec![false; colours];
    for number in band {
        is_used[usize::from(*number)] = true;
    }
    let mut is_first = true;
    for number in (0..colours).filter(|number| is_used[*number]) {
        if !is_first {
            out.push('$');
        }
        is_first = false;
        out.push_str(&format!("#{number}"));
        let mut run = (0u8, 0usize);
        for column in 0..wide {
            let mut six = 0u8;
            for (row, line) in band.chunks(wide).enumerate() {
                if usize::from(line[column]) == number {
                    six |= 1 << row;
                }
            }
            if six != run.0 {
                push_run(out, run);
                run = (six, 0);
            }
            run.1 += 1;
        }
        // Empty pixels at the end of a row can be left out.
        if run.0 != 0 {
            push_run(out, run);
        }
    }
}

fn push_run(out: &mut String, (six, times): (u8, usize)) {
    let letter = char::from(b'?' + six);
    match times {
        0..=SHORT_RUN => out.extend(std::iter::repeat_n(letter, times)),
        _ => out.push_str(&format!("!{times}{letter}")),
    }
}
