//! Tables as tests: the source of a test is the table of the reference, and every cell is a case.

/// Runs every cell of a table written with `|` between columns. The first line holds the headings; the first
/// `labels` columns of each further line name the row. `actual` gets the row's labels and the column's heading, and
/// says what the implementation does, in the words of the table. Returns the number of cells.
pub(crate) fn check_cells(table: &str, labels: usize, actual: impl Fn(&[&str], &str) -> String) -> usize {
    let mut lines = table.trim().lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let headings = lines.next().expect("a table has headings");
    let (mut cells, mut wrong) = (0, Vec::new());
    for row in lines {
        assert_eq!(row.len(), headings.len(), "a row is as wide as the headings: {row:?}");
        let (names, expected) = row.split_at(labels);
        for (heading, expected) in headings.iter().skip(labels).zip(expected) {
            cells += 1;
            let found = actual(names, heading);
            if found != *expected {
                wrong.push(format!("{} / {heading}: expected `{expected}`, found `{found}`", names.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cells} cells differ:\n{}", wrong.len(), wrong.join("\n"));
    cells
}
