//! A world: a seed, and everything that follows from it.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

use queue::{expiry::ExpireMessages, sweep::SweepQueues};
use store::{Store, sweep};
use store_embedded::{
    EmbeddedEngine, OpenError, Options, Waiting,
    disk::{Fault, FaultyDisk, SimulatedDisk},
};
use tempfile::TempDir;
use testkit::{
    Random, RestService,
    client::Request,
    flawed::{self, FlawedEngine},
};

use crate::{
    actor::{Actor, Object, objects},
    clock::Clock,
    executor::Executor,
    flaw::{self, Flaw},
    index,
    life::{self, Life},
    trace::Trace,
};

/// How large a world is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Clients of each object.
    pub clients: u32,
    /// Calls of each.
    pub calls: u32,
    /// How many objects there are, blobs first.
    pub objects: usize,
}

impl Default for Size {
    fn default() -> Self {
        Self { clients: 3, calls: 60, objects: 6 }
    }
}

/// What happened in a world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Calls that were answered.
    pub calls: u64,
    /// Turns of the scheduler.
    pub turns: u64,
    /// Power failures and ends of the process, also while it starts.
    pub crashes: u64,
    /// Faults of the disk.
    pub faults: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Objects whose history is explained.
    pub explained: u64,
    /// Objects with too many calls of which nobody knows what became: their histories say nothing.
    pub undecided: u64,
}

/// Why a world is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("seed {seed}: {what}")]
pub struct Failure {
    /// The seed of the world.
    pub seed: u64,
    /// What is wrong.
    pub what: String,
}

/// A turn in so many is a crash, a fault, a checkpoint, another upkeep.
const CRASH: u64 = 600;
const FAULT: u64 = 200;
const CHECKPOINT: u64 = 150;
const UPKEEP: u64 = 20;
/// Turns without any progress after which a world hangs.
const HANGS_AFTER: u64 = 100_000;
const SECOND: u64 = 1_000_000;

/// A world.
pub struct World {
    seed: u64,
    random: Random,
    flaw: Option<Flaw>,
    clock: Clock,
    disk: SimulatedDisk,
    faulty: FaultyDisk,
    index: TempDir,
    /// The index as it was before the last checkpoint, for the flaw that loses it.
    before: Option<TempDir>,
    life: Option<Life>,
    executor: Executor,
    objects: Vec<Object>,
    /// Calls that each client has still to make.
    left: Vec<Rc<Cell<u32>>>,
    trouble: Rc<RefCell<Option<String>>>,
    answers: Rc<Cell<u64>>,
    trace: Rc<RefCell<Trace>>,
    counts: Counts,
    _runtime: tokio::runtime::Runtime,
}

impl World {
    /// The world of a seed, on files of the index in memory if there is such a place.
    ///
    /// # Errors
    /// There is no place for the files of the index.
    pub fn new(seed: u64, size: Size, flaw: Option<Flaw>, keeps_trace: bool) -> std::io::Result<Self> {
        let mut random = Random::new(seed);
        let mut objects = objects(&mut random, size.clients);
        objects.truncate(size.objects);
        let clients = objects.iter().map(|object| object.actors.len()).sum();
        let disk = SimulatedDisk::new();
        Ok(Self {
            seed,
            flaw,
            clock: Clock::default(),
            faulty: FaultyDisk::new(disk.clone()),
            disk,
            index: index::directory()?,
            before: None,
            life: None,
            executor: Executor::default(),
            objects,
            left: (0..clients).map(|_| Rc::new(Cell::new(size.calls))).collect(),
            trouble: Rc::default(),
            answers: Rc::default(),
            trace: Rc::new(RefCell::new(Trace::new(keeps_trace))),
            counts: Counts::default(),
            random,
            // Timers want to know a runtime; nobody turns it, so none of them ever rings.
            _runtime: tokio::runtime::Builder::new_current_thread().enable_time().build()?,
        })
    }

    /// What happened.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Line by line.
    #[must_use]
    pub fn trace(&self) -> std::cell::Ref<'_, Trace> {
        self.trace.borrow()
    }

    /// Lives through it.
    ///
    /// # Errors
    /// Something is not as it should be.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.live().map_err(|what| Failure { seed: self.seed, what })
    }

    fn live(&mut self) -> Result<(), String> {
        let handle = self._runtime.handle().clone();
        let _context = handle.enter();
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        life::forget_ids();
        rest::md5::forget_company();
        self.start()?;
        let made: Vec<(&'static str, Request)> =
            self.objects.iter().map(|object| (object.service, object.made_by.clone())).collect();
        for (service, request) in made {
            self.make(service, request)?;
        }
        self.spawn_clients();
        let (mut quiet, mut answers) = (0_u64, 0);
        while self.left.iter().any(|left| left.get() > 0) {
            self.turn()?;
            if let Some(trouble) = self.trouble.borrow_mut().take() {
                return Err(trouble);
            }
            quiet = if self.answers.get() == answers { quiet + 1 } else { 0 };
            answers = self.answers.get();
            if quiet > HANGS_AFTER {
                return Err(format!("nothing happens any more after {answers} answers"));
            }
        }
        self.faulty.heal();
        self.crash()?; // what is checked is what survives
        self.counts.calls = self.answers.get();
        for object in &self.objects {
            if (object.explained)()? {
                self.counts.explained += 1;
            } else {
                self.counts.undecided += 1;
            }
        }
        self.verify()
    }

    /// One choice of the scheduler.
    fn turn(&mut self) -> Result<(), String> {
        self.counts.turns += 1;
        self.clock.pass(1 + self.random.below(20));
        if self.random.below(CRASH) == 0 {
            return self.crash();
        }
        if self.random.below(FAULT) == 0 {
            self.misbehave();
        }
        if self.random.below(CHECKPOINT) == 0 {
            return self.checkpoint();
        }
        if self.random.below(UPKEEP) == 0 {
            self.upkeep();
        }
        let Some(life) = &self.life else { return Ok(()) };
        let done = match self.random.below(100) {
            0..70 => {
                let ready = u64::try_from(self.executor.ready()).unwrap_or(u64::MAX);
                if ready == 0 {
                    return Ok(());
                }
                let nth = usize::try_from(self.random.below(ready)).unwrap_or_default();
                let task = self.executor.poll(nth);
                self.trace.borrow_mut().line(&format_args!("task {task:?}"));
                return Ok(());
            }
            70..82 => ("log", life.engine.step_log()),
            82..95 => ("io", life.engine.step_io()),
            95..97 => {
                self.clock.pass(10_000);
                ("pace", life.engine.step_pace())
            }
            _ => {
                // Seldom so much that leases end and messages come back.
                let most = if self.random.below(5) == 0 { 20 * SECOND } else { 2_000 };
                self.clock.pass(self.random.below(most));
                ("time", true)
            }
        };
        let at = (self.clock.micros(), self.disk.calls());
        self.trace.borrow_mut().line(&format_args!("{done:?} {at:?}"));
        Ok(())
    }

    /// Opens the engine on what the disk holds; `waiting` is what it calls while it waits for room.
    fn open(&self, waiting: Waiting) -> Result<EmbeddedEngine, OpenError> {
        let disk = Arc::new(flaw::disk(self.faulty.clone(), self.flaw));
        EmbeddedEngine::open_stepped(disk, self.index.path(), self.clock.clone(), Options::by_hand(), waiting)
    }

    /// Opens the store and starts the services.
    fn start(&mut self) -> Result<(), String> {
        let faulty = self.faulty.clone();
        // Whoever waits for room gets it: somebody has tidied up.
        let waiting = Box::new(move || faulty.heal());
        let opened = self.open(waiting);
        let engine = Arc::new(opened.map_err(|error| format!("open: {error}"))?);
        let store = if self.flaw == Some(Flaw::LeaseOutlivesExpiry) && self.counts.crashes > 0 {
            Store::seeded(
                Arc::new(FlawedEngine::new(Arc::<EmbeddedEngine>::clone(&engine), flawed::Flaw::SetBack)),
                self.seed,
            )
        } else {
            Store::seeded(Arc::<EmbeddedEngine>::clone(&engine), self.seed)
        };
        let parts = Rc::<RefCell<Vec<Arc<RestService>>>>::default();
        for build in [life::blobs, life::queues, life::tables, life::files] {
            let (store, parts) = (store.clone(), Rc::clone(&parts));
            let trouble = Rc::clone(&self.trouble);
            self.executor.spawn(async move {
                match RestService::over(store, build).await {
                    Ok(service) => parts.borrow_mut().push(Arc::new(service)),
                    Err(error) => *trouble.borrow_mut() = Some(format!("start: {error}")),
                }
            });
            self.drive(&engine)?;
        }
        let mut parts = parts.take().into_iter();
        let mut next = || parts.next().ok_or_else(|| "the services did not start".to_owned());
        let (blobs, queues, tables, files) = (next()?, next()?, next()?, next()?);
        self.life = Some(Life { engine, store, blobs, queues, tables, files, busy: Rc::default() });
        Ok(())
    }

    /// Lets what was spawned go on until nothing is left to do.
    fn drive(&mut self, engine: &EmbeddedEngine) -> Result<(), String> {
        loop {
            let worked = self.executor.poll(0).is_some() || engine.step_log() || engine.step_io() || engine.step_pace();
            if let Some(trouble) = self.trouble.borrow_mut().take() {
                return Err(trouble);
            }
            if !worked {
                return Ok(());
            }
            self.clock.pass(1);
        }
    }

    /// A request before the clients come.
    fn make(&mut self, service: &'static str, request: Request) -> Result<(), String> {
        let Some(life) = &self.life else { return Ok(()) };
        let (engine, service, trouble) =
            (Arc::clone(&life.engine), Arc::clone(life.service(service)), Rc::clone(&self.trouble));
        self.executor.spawn(async move {
            let answer = call(&service, &request).await;
            if answer.status >= 300 {
                *trouble.borrow_mut() = Some(format!("{request:?}: {answer:?}"));
            }
        });
        self.drive(&engine)
    }

    fn spawn_clients(&mut self) {
        let Some(life) = &self.life else { return };
        let actors = self.objects.iter().flat_map(|object| object.actors.iter().map(|actor| (object.service, actor)));
        for ((service, actor), left) in actors.zip(&self.left) {
            let (actor, left) = (Rc::clone(actor), Rc::clone(left));
            let service = Arc::clone(life.service(service));
            let (clock, trouble, trace, answers) =
                (self.clock.clone(), Rc::clone(&self.trouble), Rc::clone(&self.trace), Rc::clone(&self.answers));
            self.executor.spawn(client(actor, service, left, clock, trouble, trace, answers));
        }
    }

    /// The power fails, or the process ends, and everything starts again.
    fn crash(&mut self) -> Result<(), String> {
        self.counts.crashes += 1;
        let power = self.random.percent(75);
        self.disk.fail_power_at(0);
        let image = self.disk.crash(self.random.number());
        self.executor.clear();
        for actor in self.objects.iter().flat_map(|object| &object.actors) {
            actor.borrow_mut().lost();
        }
        self.life = None;
        self.faulty.heal();
        if power {
            self.disk = SimulatedDisk::from_image(image);
            if self.flaw == Some(Flaw::LogBeforeCheckpoint)
                && let Some(before) = self.before.take()
            {
                self.index = before;
            }
        } else {
            self.disk.restart_process();
        }
        if self.random.percent(30) {
            // It also fails while the store is being opened.
            self.counts.crashes += 1;
            self.disk.fail_power_at(self.disk.calls() + self.random.below(14));
            self.faulty = FaultyDisk::new(self.disk.clone());
            drop(self.open(Box::new(|| ())));
            self.disk = SimulatedDisk::from_image(self.disk.crash(self.random.number()));
        }
        self.faulty = FaultyDisk::new(self.disk.clone());
        self.trace.borrow_mut().line(&format_args!("crash {power} {}", self.clock.micros()));
        self.start()?;
        self.spawn_clients();
        Ok(())
    }

    fn misbehave(&mut self) {
        self.counts.faults += 1;
        let after = self.random.below(20);
        match self.random.below(6) {
            0 => self.faulty.inject(Fault::NoSpace, "", after),
            1 => self.faulty.inject(Fault::NoQuota, "extents/", after),
            2 => self.faulty.inject(Fault::NoSpace, "log/", after),
            3 => self.faulty.inject(Fault::NoHandles, "", after),
            4 if self.random.percent(20) => self.faulty.inject(Fault::FailedSync, "", after),
            _ => self.faulty.heal(),
        }
    }

    fn checkpoint(&mut self) -> Result<(), String> {
        let Some(life) = &self.life else { return Ok(()) };
        if self.flaw == Some(Flaw::LogBeforeCheckpoint) {
            self.before = Some(index::copy(self.index.path()).map_err(|error| error.to_string())?);
        }
        let done = life.engine.checkpoint().is_ok();
        self.counts.checkpoints += 1;
        self.trace.borrow_mut().line(&format_args!("checkpoint {done}"));
        Ok(())
    }

    /// The work that the server does in the background.
    fn upkeep(&mut self) {
        let Some(life) = &self.life else { return };
        let (engine, store, busy) = (Arc::clone(&life.engine), life.store.clone(), Rc::clone(&life.busy));
        let kind = self.random.below(10);
        match kind {
            0 => drop(engine.compact()),
            1 => drop(engine.delete_dead_extents()),
            _ if busy.replace(true) => {}
            _ => self.executor.spawn(async move {
                // What fails is tried again.
                match kind {
                    2..5 => drop(sweep::step(&store).await),
                    5 => drop(engine.collect().await),
                    6 => drop(jobs::round(&mut blob::jobs(&store)).await),
                    7 => drop(jobs::round(&mut [jobs::on::<ExpireMessages>(&store)]).await),
                    8 => drop(jobs::round(&mut [jobs::on::<SweepQueues>(&store)]).await),
                    _ => {
                        drop(jobs::round(&mut table::jobs(&store)).await);
                        drop(jobs::round(&mut file::jobs(&store)).await);
                    }
                }
                busy.set(false);
            }),
        }
    }

    /// Everything that is there is whole, and what the services say about it is true.
    fn verify(&mut self) -> Result<(), String> {
        let Some(life) = &self.life else { return Ok(()) };
        self.executor.clear();
        let (engine, store) = (Arc::clone(&life.engine), life.store.clone());
        let (checked, trouble) = (Arc::clone(&engine), Rc::clone(&self.trouble));
        self.executor.spawn(async move {
            let problem = match checked.check(|_| {}).await {
                Ok(report) if report.is_clean() => match file::audit::audit(&store.snapshot()).await {
                    Ok(audit) if audit.problems.is_empty() => return,
                    Ok(audit) => format!("{:#?}", audit.problems),
                    Err(error) => error.to_string(),
                },
                Ok(report) => format!("{:#?}", report.problems),
                Err(error) => error.to_string(),
            };
            *trouble.borrow_mut() = Some(format!("verification: {problem}"));
        });
        self.drive(&engine)
    }
}

/// One world at a time in a process: what takes the MD5 of bodies side by side is shared by all of it.
static ALONE: Mutex<()> = Mutex::new(());

async fn client(
    actor: Rc<RefCell<dyn Actor>>,
    service: Arc<RestService>,
    left: Rc<Cell<u32>>,
    clock: Clock,
    trouble: Rc<RefCell<Option<String>>>,
    trace: Rc<RefCell<Trace>>,
    answers: Rc<Cell<u64>>,
) {
    while left.get() > 0 {
        left.set(left.get() - 1);
        let request = actor.borrow_mut().ask(clock.micros());
        let answer = call(&service, &request).await;
        answers.set(answers.get() + 1);
        trace.borrow_mut().line(&format_args!(
            "{} {} {} {} {} {:x}",
            request.method,
            request.target,
            answer.status,
            answer.code(),
            answer.header("etag"),
            crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &answer.body),
        ));
        if let Err(error) = actor.borrow_mut().answered(clock.micros(), &answer) {
            *trouble.borrow_mut() = Some(error.to_string());
            return;
        }
    }
}

async fn call(service: &RestService, request: &Request) -> testkit::Answer {
    let headers: Vec<(&str, &str)> = request.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    service.call(request.method, &request.target, &headers, &request.body).await
}
