//! The keys of the issuers of tokens: read from a file or a URL, before the first request and again from time to time.
//!
//! When a later reading fails, the keys that are known stay.

use std::{path::PathBuf, sync::Arc, time::Duration};

use access::bearer::Bearer;
use anyhow::{Context as _, Result};
use net::Shutdown;

use crate::{files, outgoing};

/// Between two readings of a file, which costs nothing.
const FILE_PACE: Duration = Duration::from_secs(60);
/// Between two readings of a URL: issuers announce new keys a day ahead.
const URL_PACE: Duration = Duration::from_hours(1);

/// Where they are.
pub(crate) enum Source {
    File(PathBuf),
    Url(String),
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        if text.starts_with("http://") || text.starts_with("https://") {
            Self::Url(text.to_owned())
        } else {
            Self::File(PathBuf::from(text))
        }
    }

    /// Reads them once.
    pub(crate) async fn load(&self, bearer: &Bearer) -> Result<()> {
        let (text, shown) = match self {
            Self::File(path) => (files::read_text(path), path.display().to_string()),
            Self::Url(url) => (outgoing::document(url).await, url.clone()),
        };
        let text = text.with_context(|| format!("cannot read the keys of the issuers from {shown}"))?;
        let count = bearer.set_keys(&text).with_context(|| shown.clone())?;
        tracing::debug!(count, source = shown, "keys of the issuers");
        Ok(())
    }
}

/// Reads them again until shutdown.
pub(crate) async fn refresh(source: Source, bearer: Arc<Bearer>, mut shutdown: Shutdown) {
    let pace = match source {
        Source::File(_) => FILE_PACE,
        Source::Url(_) => URL_PACE,
    };
    while !shutdown.pause(pace).await {
        if let Err(error) = source.load(&bearer).await {
            tracing::warn!(error = format!("{error:#}"), "the keys of the issuers stay as they were");
        }
    }
}
