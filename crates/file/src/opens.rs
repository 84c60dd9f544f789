//! The one table of opens: every open handle of every protocol, with what it shares, locks and caches.
