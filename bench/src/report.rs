//! One table for people and one file for machines.

use std::path::Path;

/// The rows of a run.
#[derive(Default)]
pub(crate) struct Report(Vec<Row>);

struct Row {
    what: String,
    unit: &'static str,
    ours: f64,
    peer: Option<(&'static str, f64)>,
    goal: String,
    met: Option<bool>,
}

impl Report {
    /// Ours against a peer's number of the same unit; the goal is a ratio.
    pub(crate) fn ratio(
        &mut self,
        what: &str,
        unit: &'static str,
        ours: f64,
        peer: (&'static str, f64),
        at_least: f64,
    ) {
        let met = Some(ours / peer.1 >= at_least);
        self.add(Row { what: what.into(), unit, ours, peer: Some(peer), goal: format!(">= {at_least}x"), met });
    }

    /// The same, and a rate that is enough whatever the ratio.
    pub(crate) fn ratio_or(
        &mut self,
        what: &str,
        unit: &'static str,
        ours: f64,
        peer: (&'static str, f64),
        (at_least, enough): (f64, f64),
    ) {
        let met = Some(ours / peer.1 >= at_least || ours >= enough);
        let goal = format!(">= {at_least}x or {enough} {unit}");
        self.add(Row { what: what.into(), unit, ours, peer: Some(peer), goal, met });
    }

    /// The same without a goal: to know where we stand.
    pub(crate) fn beside(&mut self, what: &str, unit: &'static str, ours: f64, peer: (&'static str, f64)) {
        self.add(Row { what: what.into(), unit, ours, peer: Some(peer), goal: String::new(), met: None });
    }

    /// A number that nothing else is compared with.
    pub(crate) fn plain(&mut self, what: &str, unit: &'static str, ours: f64) {
        self.add(Row { what: what.into(), unit, ours, peer: None, goal: String::new(), met: None });
    }

    /// Ours against a fixed limit.
    pub(crate) fn limit(&mut self, what: &str, unit: &'static str, ours: f64, at_most: f64) {
        let met = Some(ours <= at_most);
        self.add(Row { what: what.into(), unit, ours, peer: None, goal: format!("<= {at_most} {unit}"), met });
    }

    fn add(&mut self, row: Row) {
        eprintln!("{}", line(&row));
        self.0.push(row);
    }

    pub(crate) fn print(&self) {
        println!("{:<58} {:>12} {:>22} {:>7}  goal", "what", "ours", "peer", "ratio");
        for row in &self.0 {
            println!("{}", line(row));
        }
    }

    pub(crate) fn save(&self, path: &Path) -> anyhow::Result<()> {
        let rows: Vec<_> = self
            .0
            .iter()
            .map(|row| {
                serde_json::json!({
                    "what": row.what, "unit": row.unit, "ours": row.ours,
                    "peer": row.peer.map(|peer| peer.0), "peer_value": row.peer.map(|peer| peer.1),
                    "ratio": row.peer.map(|peer| row.ours / peer.1), "goal": row.goal, "met": row.met,
                })
            })
            .collect();
        Ok(std::fs::write(path, serde_json::to_vec_pretty(&rows)?)?)
    }
}

fn line(row: &Row) -> String {
    let peer = row.peer.map_or(String::new(), |(name, value)| format!("{name} {value:.0}"));
    let ratio = row.peer.map_or(String::new(), |(_, value)| format!("{:.2}x", row.ours / value));
    let verdict = row.met.map_or("", |met| if met { "met" } else { "NOT met" });
    let ours = format!("{:.0} {}", row.ours, row.unit);
    format!("{:<58} {ours:>12} {peer:>22} {ratio:>7}  {} {verdict}", row.what, row.goal)
}
