//! What is counted, and its text for Prometheus. Hand-written: it is three kinds of lines.
//!
//! Invariant: the labels are names of services and operations and statuses, all from our own tables, so the number of
//! series is bounded.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use file::opens::Census;
use jobs::{Contents, Job as _, Progress};
use net::{Commons, Load, Record};

use crate::engine::Opened;

/// Upper bounds of the latency buckets, in microseconds.
const BOUNDS_MICROS: [u64; 15] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000,
];

/// All numbers of the server.
pub(crate) struct Metrics {
    operations: RwLock<BTreeMap<(&'static str, &'static str), Arc<Operation>>>,
    loads: RwLock<BTreeMap<&'static str, Arc<Load>>>,
    jobs: RwLock<BTreeMap<&'static str, Arc<JobCounts>>>,
    /// Damaged chunks that the scrub found.
    pub(crate) scrub_problems: AtomicU64,
    /// Lines that the log could not take.
    log_dropped: Arc<AtomicU64>,
    commons: Arc<Commons>,
}

/// The numbers of one operation.
#[derive(Default)]
struct Operation {
    statuses: RwLock<BTreeMap<u32, AtomicU64>>,
    /// One for each bound, not cumulative; what is above the last is only in `count`.
    buckets: [AtomicU64; BOUNDS_MICROS.len()],
    count: AtomicU64,
    micros: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

/// The jobs of the engine, by name.
pub(crate) const COLLECT: &str = "collect";
pub(crate) const SCRUB: &str = "scrub";

/// The numbers of one job.
#[derive(Default)]
pub(crate) struct JobCounts {
    steps: AtomicU64,
    failures: AtomicU64,
    /// In whatever it deals with.
    done: AtomicU64,
}

impl JobCounts {
    /// Counts a step; `None` for one that failed.
    pub(crate) fn count(&self, step: Option<&Progress>) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        match step {
            Some(progress) => self.done.fetch_add(progress.done, Ordering::Relaxed),
            None => self.failures.fetch_add(1, Ordering::Relaxed),
        };
    }

    /// Steps, failures, and what was done.
    pub(crate) fn counted(&self) -> (u64, u64, u64) {
        (load(&self.steps), load(&self.failures), load(&self.done))
    }
}

impl Metrics {
    pub(crate) fn new(log_dropped: Arc<AtomicU64>, commons: Arc<Commons>) -> Self {
        Self {
            operations: RwLock::default(),
            loads: RwLock::default(),
            jobs: RwLock::default(),
            scrub_problems: AtomicU64::new(0),
            log_dropped,
            commons,
        }
    }

    /// Counts a request.
    pub(crate) fn request(&self, record: &Record<'_>) {
        let operation = self.operation(record.service, record.operation);
        operation.add(record.status, record.duration, record.bytes_in, record.bytes_out);
    }

    /// Where a service counts its connections and requests.
    pub(crate) fn load(&self, service: &'static str) -> Arc<Load> {
        let mut all = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(service).or_default())
    }

    /// Where a job counts its steps.
    pub(crate) fn job(&self, name: &'static str) -> Arc<JobCounts> {
        let mut all = self.jobs.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(name).or_default())
    }

    fn operation(&self, service: &'static str, name: &'static str) -> Arc<Operation> {
        let known = self.operations.read().unwrap_or_else(PoisonError::into_inner).get(&(service, name)).cloned();
        known.unwrap_or_else(|| {
            let mut all = self.operations.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry((service, name)).or_default())
        })
    }

    /// The text for Prometheus.
    pub(crate) fn render(&self, opened: &Opened, opens: Census) -> String {
        let mut out = String::new();
        let build = "Always 1; says which build this is.";
        family(&mut out, "lazuli_build_info", "gauge", build);
        sample(&mut out, "lazuli_build_info", &[("version", env!("CARGO_PKG_VERSION"))], "1");
        self.render_requests(&mut out);
        self.render_loads(&mut out);
        self.render_front(&mut out);
        self.render_jobs(&mut out);
        render_opens(&mut out, opens);
        render_store(&mut out, opened);
        out
    }

    fn render_requests(&self, out: &mut String) {
        let all = self.operations.read().unwrap_or_else(PoisonError::into_inner).clone();
        family(out, "lazuli_requests_total", "counter", "Requests by service, operation and status.");
        for ((service, name), operation) in &all {
            for (status, count) in &*operation.statuses.read().unwrap_or_else(PoisonError::into_inner) {
                let labels = [("service", *service), ("operation", *name), ("status", &*status.to_string())];
                sample(out, "lazuli_requests_total", &labels, &load(count).to_string());
            }
        }
        let name = "lazuli_request_duration_seconds";
        family(out, name, "histogram", "Time from the head of a request to the last byte of its answer.");
        for ((service, operation_name), operation) in &all {
            operation.render_histogram(out, name, &[("service", *service), ("operation", *operation_name)]);
        }
        for (name, help, outgoing) in [
            ("lazuli_request_bytes_total", "Declared bytes of request bodies.", false),
            ("lazuli_response_bytes_total", "Bytes of answers' bodies.", true),
        ] {
            family(out, name, "counter", help);
            for ((service, operation_name), operation) in &all {
                let labels = [("service", *service), ("operation", *operation_name)];
                let bytes = if outgoing { &operation.bytes_out } else { &operation.bytes_in };
                sample(out, name, &labels, &load(bytes).to_string());
            }
        }
    }

    fn render_loads(&self, out: &mut String) {
        let all = self.loads.read().unwrap_or_else(PoisonError::into_inner).clone();
        type Read = fn(&Load) -> u64;
        let table: [(&str, &str, &str, Read); 4] = [
            ("lazuli_connections", "gauge", "Open connections.", |load| widened(load.connections())),
            ("lazuli_requests_in_flight", "gauge", "Requests in work.", |load| widened(load.requests())),
            (
                "lazuli_refused_connections_total",
                "counter",
                "Connections refused because there were too many.",
                Load::refused_connections,
            ),
            (
                "lazuli_refused_requests_total",
                "counter",
                "Requests answered 503 because there were too many.",
                Load::refused_requests,
            ),
        ];
        for (name, kind, help, read) in table {
            family(out, name, kind, help);
            for (service, load) in &all {
                sample(out, name, &[("service", service)], &read(load).to_string());
            }
        }
    }

    fn render_jobs(&self, out: &mut String) {
        let all: BTreeMap<_, _> = {
            let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
            jobs.iter().map(|(name, counts)| (*name, counts.counted())).collect()
        };
        family(out, "lazuli_job_steps_total", "counter", "Steps of background jobs, also those that failed.");
        for (job, (steps, ..)) in &all {
            sample(out, "lazuli_job_steps_total", &[("job", job)], &steps.to_string());
        }
        family(out, "lazuli_job_failures_total", "counter", "Steps of background jobs that failed.");
        for (job, (_, failures, _)) in &all {
            sample(out, "lazuli_job_failures_total", &[("job", job)], &failures.to_string());
        }
        let done = |job: &str| all.get(job).map_or(0, |(.., done)| *done);
        let table = [
            ("lazuli_swept_contents_total", "Contents whose space was given back.", done(Contents::NAME)),
            ("lazuli_collected_bytes_total", "Bytes moved out of mostly dead extents.", done(COLLECT)),
            ("lazuli_scrubbed_bytes_total", "Bytes verified in the background.", done(SCRUB)),
            ("lazuli_scrub_problems_total", "Damaged chunks that the scrub found.", load(&self.scrub_problems)),
        ];
        for (name, help, value) in table {
            family(out, name, "counter", help);
            sample(out, name, &[], &value.to_string());
        }
    }

    fn render_front(&self, out: &mut String) {
        let (closed, given_up) = (self.commons.gave_way(), self.commons.given_up());
        let table = [
            ("lazuli_closed_connections_total", "Idle connections closed so that others could come.", closed),
            ("lazuli_broken_answers_total", "Answers broken off because their clients did not take them.", given_up),
            ("lazuli_log_dropped_lines_total", "Lines dropped because nobody read the log.", load(&self.log_dropped)),
        ];
        for (name, help, value) in table {
            family(out, name, "counter", help);
            sample(out, name, &[], &value.to_string());
        }
    }
}

impl Operation {
    fn add(&self, status: u32, duration: Duration, bytes_in: u64, bytes_out: u64) {
        let counted = {
            let statuses = self.statuses.read().unwrap_or_else(PoisonError::into_inner);
            statuses.get(&status).map(|count| count.fetch_add(1, Ordering::Relaxed)).is_some()
        };
        if !counted {
            let mut statuses = self.statuses.write().unwrap_or_else(PoisonError::into_inner);
            statuses.entry(status).or_default().fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_MICROS.iter().zip(&self.buckets).find(|(bound, _)| micros <= **bound);
        if let Some((_, bucket)) = bucket {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.bytes_in.fetch_add(bytes_in, Ordering::Relaxed);
        self.bytes_out.fetch_add(bytes_out, Ordering::Relaxed);
    }

    fn render_histogram(&self, out: &mut String, name: &str, labels: &[(&str, &str)]) {
        let (bucket, count, sum) = (format!("{name}_bucket"), format!("{name}_count"), format!("{name}_sum"));
        let mut below = 0;
        for (bound, found) in BOUNDS_MICROS.iter().zip(&self.buckets) {
            below += load(found);
            let bound = seconds(*bound);
            let labels: Vec<_> = labels.iter().copied().chain([("le", &*bound)]).collect();
            sample(out, &bucket, &labels, &below.to_string());
        }
        let total = load(&self.count).max(below).to_string();
        let labels_inf: Vec<_> = labels.iter().copied().chain([("le", "+Inf")]).collect();
        sample(out, &bucket, &labels_inf, &total);
        sample(out, &count, labels, &total);
        sample(out, &sum, labels, &seconds(load(&self.micros)));
    }
}

fn render_store(out: &mut String, opened: &Opened) {
    let Some(engine) = &opened.embedded else { return };
    let now = engine.metrics();
    let sync = seconds(u64::try_from(now.sync_time.as_micros()).unwrap_or(u64::MAX));
    let table = [
        ("lazuli_commits_total", "counter", "Transactions made durable.", now.commits.to_string()),
        (
            "lazuli_commit_groups_total",
            "counter",
            "Groups they were written in; commits by groups is the size of a group.",
            now.groups.to_string(),
        ),
        ("lazuli_log_syncs_total", "counter", "Syncs of the log.", now.syncs.to_string()),
        ("lazuli_log_sync_seconds_total", "counter", "Time spent in syncs of the log.", sync),
        ("lazuli_log_bytes_total", "counter", "Bytes written to the log.", now.log_bytes.to_string()),
        ("lazuli_index_bytes", "gauge", "Bytes of the index's tables.", now.index_bytes.to_string()),
        ("lazuli_live_chunk_bytes", "gauge", "Bytes of live chunks.", now.live_chunk_bytes.to_string()),
        ("lazuli_extents", "gauge", "Extent files.", now.extents.to_string()),
        (
            "lazuli_unswept_bytes",
            "gauge",
            "Bytes that writers left to the sweeper; writers are slowed down when there are many.",
            now.unswept_bytes.to_string(),
        ),
        ("lazuli_disk_free_bytes", "gauge", "Free bytes of the disk.", now.available_bytes.to_string()),
        (
            "lazuli_disk_reserve_bytes",
            "gauge",
            "Free bytes below which writes are refused (disk-reserve).",
            now.reserve_bytes.to_string(),
        ),
        ("lazuli_disk_full", "gauge", "1 while writes are refused for want of space.", u8::from(now.full).to_string()),
    ];
    for (name, kind, help, value) in table {
        family(out, name, kind, help);
        sample(out, name, &[], &value);
    }
}

/// What is open in the File service.
fn render_opens(out: &mut String, opens: Census) {
    let table = [
        ("lazuli_file_handles", "Handles that are open.", opens.handles),
        ("lazuli_file_locks", "Byte-range locks that are held.", opens.locks),
        ("lazuli_file_orphans", "Handles whose clients lost their connection and may come back.", opens.orphans),
        ("lazuli_file_waiters", "Requests that wait for handles, locks or caches of others.", opens.waiters),
        (
            "lazuli_file_cache_breaks",
            "Clients that were asked to give up what they cache, and have not answered.",
            opens.deadlines,
        ),
        ("lazuli_file_pending_deletes", "Files that are marked for deletion and still open.", opens.hidden),
    ];
    for (name, help, value) in table {
        family(out, name, "gauge", help);
        sample(out, name, &[], &value.to_string());
    }
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    let _infallible = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Values of labels come from our own tables and need no escaping.
fn sample(out: &mut String, name: &str, labels: &[(&str, &str)], value: &str) {
    out.push_str(name);
    for (position, (label, text)) in labels.iter().enumerate() {
        let before = if position == 0 { '{' } else { ',' };
        let _infallible = write!(out, "{before}{label}=\"{text}\"");
    }
    let _infallible = writeln!(out, "{} {value}", if labels.is_empty() { "" } else { "}" });
}

fn widened(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Metrics {
        /// Numbers of nothing yet.
        pub(crate) fn example() -> Self {
            Self::new(Arc::default(), Arc::new(Commons::new(1)))
        }
    }

    #[test]
    fn jobs_are_counted_by_name() {
        let metrics = Metrics::example();
        metrics.job(Contents::NAME).count(Some(&Progress { done: 5, more: false }));
        metrics.job(Contents::NAME).count(None);
        metrics.job("tables").count(Some(&Progress::default()));
        let mut out = String::new();
        metrics.render_jobs(&mut out);
        for line in [
            "lazuli_job_steps_total{job=\"contents\"} 2",
            "lazuli_job_steps_total{job=\"tables\"} 1",
            "lazuli_job_failures_total{job=\"contents\"} 1",
            "lazuli_job_failures_total{job=\"tables\"} 0",
            "lazuli_swept_contents_total 5",
            "lazuli_scrubbed_bytes_total 0",
        ] {
            assert!(out.lines().any(|found| found == line), "{line} in {out}");
        }
    }

    #[test]
    fn what_is_open_is_told() {
        let mut out = String::new();
        render_opens(&mut out, Census { handles: 3, locks: 2, waiters: 1, ..Census::default() });
        for line in
            ["lazuli_file_handles 3", "lazuli_file_locks 2", "lazuli_file_waiters 1", "lazuli_file_cache_breaks 0"]
        {
            assert!(out.lines().any(|found| found == line), "{line} in {out}");
        }
    }

    #[test]
    fn file_operations_are_counted_by_name() {
        let metrics = Metrics::example();
        metrics.operation("file", "PutRange").add(201, Duration::from_micros(5), 4, 0);
        let mut out = String::new();
        metrics.render_requests(&mut out);
        let line = "lazuli_requests_total{service=\"file\",operation=\"PutRange\",status=\"201\"} 1";
        assert!(out.lines().any(|found| found == line), "{out}");
    }

    #[test]
    fn a_histogram_counts_up() {
        let operation = Operation::default();
        for micros in [100, 250, 251, 20_000_000] {
            operation.add(200, Duration::from_micros(micros), 1, 2);
        }
        let mut out = String::new();
        operation.render_histogram(&mut out, "t", &[("operation", "Get")]);
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines[0], "t_bucket{operation=\"Get\",le=\"0.000250\"} 2");
        assert_eq!(lines[1], "t_bucket{operation=\"Get\",le=\"0.000500\"} 3");
        assert_eq!(lines[14], "t_bucket{operation=\"Get\",le=\"10.000000\"} 3");
        let end = "t_bucket{operation=\"Get\",le=\"+Inf\"} 4\nt_count{operation=\"Get\"} 4\nt_sum{operation=\"Get\"} 20.000601\n";
        assert!(out.ends_with(end), "{out}");
    }
}
