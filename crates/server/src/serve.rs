//! `lazuli serve`: from the configuration to listening ports, and from a signal to a clean end.
//!
//! The order of the end: stop accepting, finish requests in flight, stop the background work, close the admin port, which
//! said until then that the server is stopping, close the engine.

use std::{
    env::VarError,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use access::{AccountKey, Origin, bearer::Bearer, need};
use anyhow::{Context as _, Result, bail};
use net::{Listener, Shutdown, Tls, descriptors};
use rest::{Commons, Host, Service, limits::Limits};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    task::JoinSet,
};
use transfer::Here;

use crate::{
    admin::Admin,
    azurite,
    banner::{self, Endpoint},
    cli::ServeArgs,
    compose::{self, Spoken},
    config::Config,
    engine::{self, Opened},
    failure::misconfigured,
    files::AdminNote,
    host::ServerHost,
    incarnation::{Incarnation, Surroundings},
    issuer_keys,
    listen::{self, Bound, BoundService},
    logging,
    metrics::Metrics,
    origins::Origins,
    outgoing::Client,
    output,
    ports_file::{self, PortsFile},
    randomness::{self, RequestIds},
    settings::Durability,
    tls::Certificate,
    upkeep,
};

/// Connections of the admin port.
const ADMIN_CONNECTIONS: usize = 64;
/// For what is still blocked when everything has ended, such as a backup that nobody waits for.
const LEFTOVERS: Duration = Duration::from_secs(5);

/// Runs the server until a signal ends it.
pub(crate) fn run(arguments: ServeArgs, origins: Origins) -> Result<()> {
    let config = configured(arguments, origins).map_err(misconfigured)?;
    let log = logging::start(config.log, config.log_level)?;
    let descriptors = descriptors::raise();
    let connections = descriptors::connections(descriptors, config.max_connections);
    if connections < config.max_connections {
        tracing::warn!(connections, descriptors, "fewer connections at once: the system allows too few open files");
    }
    let files = config.tls.clone();
    let tls = files.map(|(certificate, key)| Certificate::load(certificate, key)).transpose().map_err(misconfigured)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.workers)
        .thread_name("lazuli-worker")
        .enable_all()
        .build()
        .context("cannot start threads")?;
    // A start that must fail leaves no empty data directory behind.
    if config.accounts.is_empty() && !engine::exists(&config.data_dir, config.durability)? {
        return Err(compose::no_account(&config));
    }
    if let Some(path) = &config.ports_file {
        ports_file::clear(path)?;
    }
    let bound = runtime.block_on(async { listen::bind_everything(&config) })?;
    let opened = engine::open(&config.data_dir, config.durability, config.disk_reserve)?;
    let served =
        runtime.block_on(serve(&config, bound, &opened, tls, Front { connections, log_dropped: log.dropped() }));
    runtime.shutdown_timeout(LEFTOVERS);
    // Also after a failure: a clean close makes the next start quick.
    let closed = opened.close();
    served.and(closed)?;
    // The last lines of the log come before the last word.
    drop(log);
    output::print("Stopped.\n");
    Ok(())
}

/// Flags, those of Azurite among them, environment and file.
fn configured(arguments: ServeArgs, mut origins: Origins) -> Result<Config> {
    let ServeArgs { config: file, mut settings, azurite: flags } = arguments;
    let said = flags.apply(&mut settings, &mut origins)?;
    for line in said.into_iter().chain(azurite::variables(|name| std::env::var_os(name).is_some())) {
        output::report(&line);
    }
    let accounts = match std::env::var("AZURITE_ACCOUNTS") {
        Err(VarError::NotUnicode(_)) => bail!("AZURITE_ACCOUNTS is not text"),
        set => set.ok(),
    };
    let mut config = Config::resolve(settings, file.as_deref(), accounts.as_deref(), origins)?;
    // A script that starts several Azurites side by side gives each its ports, and knows neither files nor an admin port.
    if flags.choose_ports() && config.file_port_is_default {
        config.ports.file = 0;
    }
    if flags.choose_ports() && config.smb_port_is_default {
        config.ports.smb = 0;
    }
    if flags.choose_ports() && config.admin_port_is_default {
        config.admin.1 = 0;
    }
    Ok(config)
}

/// What was found out before the first thread was started.
struct Front {
    /// Connections at once.
    connections: usize,
    log_dropped: Arc<AtomicU64>,
}

async fn serve(config: &Config, bound: Bound, opened: &Opened, tls: Option<Certificate>, front: Front) -> Result<()> {
    let mut signals = Signals::new()?;
    let (stop, shutdown) = Shutdown::channel();
    let commons = Arc::new(net::Commons::new(front.connections));
    let metrics = Arc::new(Metrics::new(front.log_dropped, Arc::clone(&commons)));
    let host = Arc::new(ServerHost {
        engine: Arc::clone(&opened.engine),
        ids: RequestIds::new()?,
        metrics: Arc::clone(&metrics),
        request_log: config.request_log,
        domains: config.domains.clone(),
        commons: Arc::new(Commons::new(commons)),
        admin_commons: Arc::new(Commons::new(Arc::new(net::Commons::new(ADMIN_CONNECTIONS)))),
    });

    let Bound { admin, services } = bound;
    let admin_address = admin.local_addr()?;
    let token = randomness::token()?;
    let (stop_admin, admin_shutdown) = Shutdown::channel();
    let mut admin_ports = Ports { host: Arc::clone(&host), shutdown: admin_shutdown, tasks: JoinSet::new() };
    let mut ports = Ports { host, shutdown: shutdown.clone(), tasks: JoinSet::new() };
    let mut endpoints = Vec::new();
    let bearer = Arc::new(Bearer::new(config.bearer.settings.clone()));
    if let Some(place) = &config.bearer.keys {
        let source = issuer_keys::Source::new(place);
        // The first keys are there before the first request.
        source.load(&bearer).await?;
        ports.tasks.spawn(issuer_keys::refresh(source, Arc::clone(&bearer), shutdown.clone()));
    }
    if config.bearer.settings.unsigned {
        tracing::warn!("bearer tokens are accepted without looking at their signatures");
    }
    // Those that have something to copy.
    let copied_from = services.iter().filter_map(|service| match service.name {
        "blob" => Some((need::Service::Blob, &service.listeners)),
        "file" => Some((need::Service::File, &service.listeners)),
        _ => None,
    });
    let listeners = copied_from.flat_map(|(of, listeners)| listeners.iter().map(move |listener| (of, listener)));
    let here = Here {
        domains: config.domains.clone(),
        listeners: listeners.map(|(of, listener)| Ok((of, listener.local_addr()?))).collect::<std::io::Result<_>>()?,
        remote: config.copy_sources_remote.clone(),
    };
    let incarnation = Incarnation::open(Arc::clone(&opened.engine), surroundings(config, bearer, here)).await?;
    // Dropped before the incarnation, whatever happens: what the ports run does not outlive it.
    let mut ports = ports;
    if incarnation.accounts.list().is_empty() {
        return Err(compose::no_account(config));
    }
    for service in services {
        endpoints.push(ports.open_service(service, config, &incarnation, tls.as_ref().map(Certificate::tls))?);
    }
    if let Some(tls) = tls {
        ports.tasks.spawn(renew(tls, signal(SignalKind::hangup())?, shutdown.clone()));
    }
    let note = (config.durability != Durability::Memory)
        .then(|| AdminNote { address: admin_address, token: token.clone() }.write(&config.data_dir))
        .transpose()
        .with_context(|| format!("cannot write into {}", config.data_dir.display()))?;
    let limits = net::Limits { connections: ADMIN_CONNECTIONS, ..net::Limits::default() };
    let service = Admin {
        opened: opened.clone(),
        metrics: Arc::clone(&metrics),
        token,
        shutdown: shutdown.clone(),
        backups: crate::admin::Backups::default(),
        store: incarnation.store.clone(),
        opens: incarnation.files.opens().clone(),
        accounts: Arc::clone(&incarnation.accounts),
    };
    admin_ports.open(admin, None, Arc::new(service), limits);
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let ports_file = config.ports_file.as_deref();
    let ports_file = ports_file.map(|path| PortsFile::write(path, scheme, &endpoints, admin_address)).transpose()?;
    // Behind everything that can end the start: background work never meets a store that is given up again.
    let transfers = &incarnation.transfers;
    let copies = vec![
        transfers.work(shutdown.clone()),
        transfers.finding(blob_rest::PendingCopies::new(incarnation.blobs.clone())),
        transfers.finding(file_rest::PendingCopies::new(incarnation.files.clone())),
    ];
    let opens = incarnation.files.tending();
    ports.tasks.spawn(upkeep::run(incarnation.store.clone(), opened.clone(), copies, opens, metrics, shutdown));
    let kept: Vec<String> = incarnation
        .accounts
        .list()
        .iter()
        .filter(|account| account.origin == Origin::Stored)
        .map(|account| account.name.as_str().to_owned())
        .collect();
    banner::print(config, &kept, &endpoints, admin_address);

    signals.next().await;
    tracing::info!("stopping: finishing the requests in flight");
    drop((note, ports_file));
    let _everybody_hears = stop.send(true);
    let ended = async {
        while ports.tasks.join_next().await.is_some() {}
        let _it_hears = stop_admin.send(true);
        while admin_ports.tasks.join_next().await.is_some() {}
    };
    tokio::select! {
        () = ended => incarnation.end().await,
        // What is in flight is refused from here on: the incarnation ends by being dropped.
        () = signals.next() => tracing::warn!("a second signal: not waiting for requests in flight"),
    }
    Ok(())
}

/// What the configuration says to the services.
fn surroundings(config: &Config, bearer: Arc<Bearer>, here: Here) -> Surroundings {
    let accounts = config.accounts.iter().map(|account| {
        let keys = account.keys.iter().map(|key| AccountKey::new(key.bytes())).collect();
        (account.name.clone(), keys)
    });
    Surroundings {
        accounts: accounts.collect(),
        public_access: config.public_access,
        bearer,
        outgoing: Arc::new(Client::new(config.copy_sources)),
        here,
    }
}

/// Reads the certificate again when somebody says so.
async fn renew(tls: Certificate, mut hangup: Signal, mut shutdown: Shutdown) {
    loop {
        tokio::select! {
            () = shutdown.requested() => return,
            _ = hangup.recv() => match tls.reload() {
                Ok(()) => tracing::info!("the certificate was read again"),
                Err(error) => tracing::error!(error = format!("{error:#}"), "the old certificate stays in use"),
            },
        }
    }
}

/// The ports that are open, one task each.
struct Ports {
    host: Arc<ServerHost>,
    shutdown: Shutdown,
    tasks: JoinSet<()>,
}

impl Ports {
    /// Puts a service behind its ports.
    fn open_service(
        &mut self,
        bound: BoundService,
        config: &Config,
        incarnation: &Incarnation,
        tls: Option<Arc<Tls>>,
    ) -> Result<Endpoint> {
        let limits = net::Limits { requests: config.max_requests, ..net::Limits::default() };
        let addresses = bound.listeners.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>()?;
        match bound.spoken {
            Spoken::Rest(build) => {
                let service = build(incarnation);
                for listener in bound.listeners {
                    self.open(listener, tls.clone(), Arc::clone(&service), limits);
                }
            }
            Spoken::Smb => {
                let commons = Arc::clone(&self.host.commons.net);
                let bounds = net::Bounds { commons, load: self.host.metrics.load(bound.name), limits };
                let service = compose::smb(incarnation, config.smb_encryption, bounds.clone());
                let service = service.context("the system gives no randomness")?;
                for tcp in bound.listeners {
                    // It encrypts itself.
                    let listener = Listener { tcp, tls: None };
                    let (service, bounds) = (Arc::clone(&service), bounds.clone());
                    self.tasks.spawn(net::serve(listener, service, bounds, self.shutdown.clone()));
                }
            }
        }
        Ok(Endpoint { name: bound.name, key: bound.endpoint, addresses })
    }

    fn open(&mut self, tcp: TcpListener, tls: Option<Arc<Tls>>, service: Arc<dyn Service>, limits: net::Limits) {
        let host: Arc<dyn Host> = Arc::<ServerHost>::clone(&self.host);
        let (listener, limits) = (Listener { tcp, tls }, Limits { net: limits, ..Limits::default() });
        self.tasks.spawn(rest::serve(listener, service, host, limits, self.shutdown.clone()));
    }
}

/// The signals that end a server.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
