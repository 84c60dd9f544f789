//! Clients and the objects they work on: what is asked next, what was seen, and whether that can be explained.

use std::{cell::RefCell, rc::Rc};

use testkit::{
    Answer, Random,
    client::Request,
    linearizability::{
        Bounds, Call, History, Model, Verdict, check,
        models::{
            append_blob::AppendBlob, blob::Blob, files::Files, message::Message, page_blob::PageBlob,
            partition::Partition,
        },
    },
    workload::{
        Plan, WorkloadError, append_blob::AppendPlan, blob::BlobPlan, files::FilesPlan, page_blob,
        partition::PartitionPlan, queue,
    },
};

/// One client of one object.
pub(crate) trait Actor {
    /// The next request. It is open until it is answered or lost.
    fn ask(&mut self, now: u64) -> Request;

    /// The answer to it.
    fn answered(&mut self, now: u64, answer: &Answer) -> Result<(), WorkloadError>;

    /// The power failed: nobody will ever know what became of an open request.
    fn lost(&mut self);
}

/// An object: who works on it, and how what they saw is checked.
pub(crate) struct Object {
    pub(crate) service: &'static str,
    /// What makes it.
    pub(crate) made_by: Request,
    pub(crate) actors: Vec<Rc<RefCell<dyn Actor>>>,
    /// False when there are too many orders to try.
    pub(crate) explained: Box<dyn Fn() -> Result<bool, String>>,
}

struct Client<P: Plan> {
    number: u32,
    plan: P,
    random: Random,
    open: Option<(P::Op, u64)>,
    seen: Rc<RefCell<History<P::Op, P::Answer>>>,
}

impl<P: Plan> Actor for Client<P> {
    fn ask(&mut self, now: u64) -> Request {
        let op = self.plan.ask(&mut self.random);
        let request = self.plan.request(&op);
        self.open = Some((op, now));
        request
    }

    fn answered(&mut self, now: u64, answer: &Answer) -> Result<(), WorkloadError> {
        let Some((op, called_at)) = self.open.take() else { return Ok(()) };
        // Refused for want of room: a promise that nothing was done.
        if answer.text().contains("has no space left for writes") {
            return Ok(());
        }
        self.plan.heard(answer);
        let read = self.plan.read(&op, answer)?;
        if let Some(read) = &read {
            self.plan.saw(&op, read);
        }
        let answered = read.map(|read| (now, read));
        self.seen.borrow_mut().push(Call { client: self.number, op, called_at, answered });
        Ok(())
    }

    fn lost(&mut self) {
        if let Some((op, called_at)) = self.open.take() {
            self.seen.borrow_mut().push(Call { client: self.number, op, called_at, answered: None });
        }
    }
}

fn object<P: Plan>(
    service: &'static str,
    made_by: Request,
    seed: u64,
    clients: u32,
    plan: impl Fn(u32) -> P,
    explained: impl Fn(&History<P::Op, P::Answer>) -> Result<bool, String> + 'static,
) -> Object {
    let seen = Rc::<RefCell<History<P::Op, P::Answer>>>::default();
    let client = |number: u32| -> Rc<RefCell<dyn Actor>> {
        let random = Random::new(seed.wrapping_add(u64::from(number) << 32));
        Rc::new(RefCell::new(Client { number, plan: plan(number), random, open: None, seen: Rc::clone(&seen) }))
    };
    let actors = (0..clients).map(client).collect();
    Object { service, made_by, actors, explained: Box::new(move || explained(&seen.borrow())) }
}

fn verdict<M: Model>(model: &M, history: &History<M::Op, M::Answer>) -> Result<bool, String> {
    match check(model, history, Bounds { configurations: 20_000, ..Bounds::default() }) {
        Verdict::Linearizable => Ok(true),
        // Too many calls without an answer: says nothing, and is counted as that.
        Verdict::Unknown { .. } => Ok(false),
        Verdict::NotLinearizable { why, .. } => {
            let mut calls: Vec<_> = history.iter().collect();
            calls.sort_by_key(|call| call.called_at);
            let lines: Vec<String> = calls.iter().map(|call| format!("{call:?}")).collect();
            Err(format!("{why}\nall calls:\n{}", lines.join("\n")))
        }
    }
}

/// The objects of a world.
pub(crate) fn objects(random: &mut Random, clients: u32) -> Vec<Object> {
    // That of files is made of another one: worlds that are known stay what they are.
    let [first, appends, paged, entities, queues] = [(); 5].map(|()| random.number());
    let files = queues.rotate_left(32);
    let blob = |name: &str, kind: &'static str| {
        Request::new("PUT", format!("/box/{name}")).header("x-ms-blob-type", kind).header("x-ms-meta-made", "1")
    };
    let pages = (page_blob::PAGES * 512).to_string();
    let create = Request::new("POST", "/Tables").header("Content-Type", "application/json");
    vec![
        object(
            "blob",
            Request::new("PUT", "/box?restype=container"),
            first,
            clients,
            |client| BlobPlan::new("/box/first", client),
            |history| verdict(&Blob, history),
        ),
        object(
            "blob",
            blob("append", "AppendBlob"),
            appends,
            clients,
            |_| AppendPlan { path: "/box/append".to_owned(), blocks: 0 },
            |history| verdict(&AppendBlob, history),
        ),
        object(
            "blob",
            blob("pages", "PageBlob").header("x-ms-blob-content-length", pages),
            paged,
            clients,
            |_| page_blob::PagePlan { path: "/box/pages".to_owned() },
            |history| verdict(&PageBlob { pages: page_blob::PAGES }, history),
        ),
        object(
            "table",
            create.body(r#"{"TableName":"entities"}"#),
            entities,
            clients,
            |_| PartitionPlan::new("entities", "p"),
            |history| verdict(&Partition, history),
        ),
        object(
            "queue",
            Request::new("PUT", "/messages"),
            queues,
            clients,
            |_| queue::QueuePlan::new("/messages"),
            |history| {
                let messages = queue::by_message(history);
                messages.iter().try_fold(true, |all, message| Ok(verdict(&Message, message)? && all))
            },
        ),
        object(
            "file",
            Request::new("PUT", "/box?restype=share"),
            files,
            clients,
            |client| FilesPlan::new("/box", client),
            |history| verdict(&Files, history),
        ),
    ]
}
