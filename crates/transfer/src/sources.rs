//! Sources that are opened: each service of this server that can be read from is known here by its name, and everything
//! else is fetched.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use access::{Accounts, need::Service};
use bytes::Bytes;
use rest::{BoxFuture, Caller, Request, ServiceError, Target, outgoing::Outgoing};

use crate::{Found, Here, Local, Place, Source, SourceUse, remote};

/// Who asks for a copy.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The accounts of this server.
    pub accounts: &'a Accounts,
    /// The caller of the copy.
    pub caller: &'a Caller,
    /// Its request.
    pub request: &'a Request,
}

/// What is wanted of a source.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The bytes; `None` for all.
    pub range: Option<(u64, u64)>,
    /// More are refused.
    pub limit: u64,
}

/// A service of this server whose objects can be the source of a copy, also of one into another service.
pub trait Readable: Send + Sync + 'static {
    /// Reads a target as the service does, before a signature is compared with it.
    ///
    /// # Errors
    /// It is none.
    fn prepare(&self, target: &mut Target) -> Result<(), ServiceError>;

    /// Authorises the read, decides its conditions and opens the bytes, in one view.
    fn open<'a>(&'a self, read: Read<'a>) -> BoxFuture<'a, Result<Opened, ServiceError>>;
}

/// A read of a source here.
pub struct Read<'a> {
    /// Who reads it.
    pub reader: Caller,
    /// What is read.
    pub target: &'a Target,
    /// The URL as it may be shown.
    pub shown: String,
    /// The request for the copy, whose headers have the conditions of the source.
    pub request: &'a Request,
    /// What it is read for.
    pub usage: SourceUse,
    /// The bytes.
    pub wanted: Wanted,
}

/// A source that is open.
pub struct Opened {
    /// What it says about itself.
    pub found: Found,
    /// Its bytes.
    pub bytes: Box<dyn Arriving>,
}

/// Bytes of a source as they come.
pub trait Arriving: Send {
    /// The next ones. It is not asked for more than there are: an end that comes too early is an error.
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, ServiceError>>;
}

/// Everything that copies can be made of.
pub struct Sources {
    pub(crate) outgoing: Arc<dyn Outgoing>,
    pub(crate) here: Here,
    readable: RwLock<BTreeMap<Service, Arc<dyn Readable>>>,
}

impl Sources {
    pub(crate) fn new(outgoing: Arc<dyn Outgoing>, here: Here) -> Self {
        Self { outgoing, here, readable: RwLock::default() }
    }

    /// From now on a service of this server can be read from. Until then its addresses are like any other.
    pub fn add(&self, service: Service, readable: Arc<dyn Readable>) {
        self.readable.write().unwrap_or_else(PoisonError::into_inner).insert(service, readable);
    }

    fn readable(&self, service: Service) -> Option<Arc<dyn Readable>> {
        self.readable.read().unwrap_or_else(PoisonError::into_inner).get(&service).cloned()
    }

    pub(crate) fn reads(&self, service: Service) -> bool {
        self.readable(service).is_some()
    }

    pub(crate) fn prepare(&self, local: &mut Local) -> Result<(), ServiceError> {
        match self.readable(local.service) {
            Some(readable) => readable.prepare(&mut local.target),
            None => Err(ServiceError::internal()),
        }
    }

    /// Opens a source, here or elsewhere.
    ///
    /// # Errors
    /// It may not be read, does not exist, does not meet its conditions, or is longer than the limit.
    pub async fn open(&self, source: &Source<'_>, asking: Asking<'_>, wanted: Wanted) -> Result<Opened, ServiceError> {
        match &source.place {
            Place::Here(local) => {
                let readable = self.readable(local.service).ok_or_else(ServiceError::internal)?;
                let read = Read {
                    reader: source.reader(asking, local)?,
                    target: &local.target,
                    shown: source.shown(),
                    request: asking.request,
                    usage: source.usage,
                    wanted,
                };
                readable.open(read).await
            }
            Place::Elsewhere => remote::open(&*self.outgoing, source, asking.request, wanted).await,
        }
    }

    /// Asks a source elsewhere what it says about itself, for a copy that will fetch it later.
    ///
    /// # Errors
    /// It cannot be asked, or answers that it may not be read or does not meet its conditions.
    pub async fn look(&self, source: &Source<'_>, request: &Request) -> Result<Found, ServiceError> {
        Found::of(&remote::fetch(&*self.outgoing, source, request, true, None).await?)
    }
}
