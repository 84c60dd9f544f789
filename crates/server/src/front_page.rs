//! What a person sees who opens a port with a browser or `curl`, where a storage client would name an account.

/// The text at `/` of a service.
pub(crate) fn text(service: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    if service == "admin" {
        return format!(
            "Lazuli {version}, the admin port\n\n\
             /healthz   200 while the process serves\n\
             /readyz    200 while writes are accepted\n\
             /metrics   numbers for Prometheus\n\n\
             `lazuli account` and `lazuli backup` ask this port too.\n"
        );
    }
    let (name, below) = match service {
        "blob" => ("Blob", "CONTAINER/BLOB"),
        "queue" => ("Queue", "QUEUE/messages"),
        "table" => ("Table", "TABLE"),
        other => (other, "..."),
    };
    format!(
        "Lazuli {version}, the {name} service\n\n\
         What it holds is below the name of an account: /ACCOUNT/{below}\n\
         Clients of Azure Storage connect with the connection string that the server prints when it starts.\n"
    )
}
