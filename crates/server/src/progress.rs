//! A progress bar on a terminal, nothing elsewhere.

use std::io::{IsTerminal, Write, stderr};

const WIDTH: u64 = 30;
/// Bytes between two drawings: the terminal is slower than the disk.
const STEP: u64 = 4 * 1024 * 1024;

/// A line on standard error that is drawn again and again.
pub(crate) struct Bar {
    label: &'static str,
    shown: bool,
    drawn_at: Option<u64>,
}

impl Bar {
    pub(crate) fn new(label: &'static str) -> Self {
        Self { label, shown: stderr().is_terminal(), drawn_at: None }
    }

    /// Shows how far it is. Without a total there is no bar, only numbers.
    pub(crate) fn show(&mut self, rows: u64, bytes: u64, total_bytes: u64) {
        let since = self.drawn_at.map_or(u64::MAX, |drawn| (bytes + rows).saturating_sub(drawn));
        if !self.shown || since < STEP {
            return;
        }
        self.drawn_at = Some(bytes + rows);
        let line = line(self.label, rows, bytes, total_bytes);
        let _nobody_looks = write!(stderr(), "\r\x1b[K{line}").and_then(|()| stderr().flush());
    }

    /// Takes the line away.
    pub(crate) fn end(self) {
        if self.shown && self.drawn_at.is_some() {
            let _nobody_looks = write!(stderr(), "\r\x1b[K").and_then(|()| stderr().flush());
        }
    }
}

fn line(label: &str, rows: u64, bytes: u64, total_bytes: u64) -> String {
    if total_bytes == 0 {
        return format!("{label} {rows} rows, {}", size(bytes));
    }
    let full = WIDTH * bytes.min(total_bytes) / total_bytes;
    let bar: String = (0..WIDTH).map(|place| if place < full { '#' } else { '.' }).collect();
    let percent = 100 * bytes.min(total_bytes) / total_bytes;
    format!("{label} [{bar}] {percent:3} % of {}", size(total_bytes))
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut unit = "bytes";
    let mut tenths = bytes.saturating_mul(10);
    for next in UNITS {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1024;
        unit = next;
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{}.{} {unit}", tenths / 10, tenths % 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let table = [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1_600_000, "1.5 MiB"),
            (5 << 40, "5.0 TiB"),
            (5000 << 40, "5000.0 TiB"),
        ];
        for (bytes, text) in table {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn a_bar_needs_a_total() {
        assert_eq!(line("copying", 7, 2048, 0), "copying 7 rows, 2.0 KiB");
        assert_eq!(line("copying", 7, 1, 2), "copying [###############...............]  50 % of 2 bytes");
    }
}
