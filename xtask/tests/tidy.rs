//! The rules of the tree, run over the tree that this test stands in.

#[test]
fn the_tree_is_tidy() {
    let violations = xtask::tidy::check(&xtask::root()).expect("the tree can be read");
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
}
