//! The crate `smb`: every dialect, signed and encrypted, share modes, listings, changes that are seen, and REST on the same files.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use futures::StreamExt;
use lazuli_conformance::{ACCOUNT, Server};
use smb::{
    Client, ClientConfig, ConnectionConfig, CreateOptions, Dialect, Error, FileAccessMask, FileAttributes,
    FileCreateArgs, FileDirectoryInformation, FileDispositionInformation, GetLen, ReadAt, UncPath, WriteAt,
    connection::EncryptionMode,
};

const SHARE: &str = "files";

/// Asks the File service over REST.
fn rest(server: &Server, method: &str, path: &str, query: &str) -> (u16, Vec<u8>) {
    let endpoint = server.endpoint("File");
    let (host, account) = endpoint.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let sas = server.sas("f");
    let head =
        format!("{method} /{account}/{path}?{query}&{sas} HTTP/1.1\r\nHost: {host}\r\nx-ms-version: 2024-08-04\r\n");
    write!(stream, "{head}Content-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
    (status, answer.split_off(end))
}

async fn connect(server: &Server, dialect: Dialect, encryption_mode: EncryptionMode) -> (Client, UncPath) {
    let connection = ConnectionConfig {
        port: Some(server.smb_port()),
        min_dialect: Some(dialect),
        max_dialect: Some(dialect),
        encryption_mode,
        ..ConnectionConfig::default()
    };
    let share = UncPath::new("127.0.0.1").unwrap().with_share(SHARE).unwrap();
    let mut attempts = 5;
    loop {
        let config = ClientConfig { connection: connection.clone(), dfs: false, ..ClientConfig::default() };
        let client = Client::new(config);
        match client.share_connect(&share, ACCOUNT, server.key()).await {
            Ok(()) => return (client, share),
            // The crate makes its keys behind the last message of a logon, and is not ready for an answer that comes at once.
            Err(Error::TranformFailed(_)) if attempts > 0 => attempts -= 1,
            Err(error) => panic!("{dialect:?} {encryption_mode:?}: {error}"),
        }
    }
}

fn all() -> FileAccessMask {
    FileAccessMask::new().with_generic_read(true).with_generic_write(true).with_delete(true)
}

fn create() -> FileCreateArgs {
    FileCreateArgs::make_create_new(FileAttributes::new(), CreateOptions::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_written_and_read_in_every_dialect() {
    let server = Server::start();
    assert_eq!(rest(&server, "PUT", SHARE, "restype=share").0, 201);
    let bytes: Vec<u8> = (0..150_000_u32).map(|number| (number / 7) as u8).collect();
    let ways = [
        (Dialect::Smb021, EncryptionMode::Disabled),
        (Dialect::Smb030, EncryptionMode::Required),
        (Dialect::Smb0302, EncryptionMode::Allowed),
        (Dialect::Smb0311, EncryptionMode::Allowed),
        (Dialect::Smb0311, EncryptionMode::Required),
    ];
    for (number, (dialect, encryption)) in ways.into_iter().enumerate() {
        let (client, share) = connect(&server, dialect, encryption).await;
        let name = format!("{number}.bin");
        let file = client.create_file(&share.clone().with_path(&name), &create()).await.unwrap().unwrap_file();
        let mut written = 0;
        while written < bytes.len() {
            written += file.write_at(&bytes[written..], written as u64).await.unwrap();
        }
        // Before it is flushed or closed.
        assert_eq!(rest(&server, "GET", &format!("{SHARE}/{name}"), "a=b"), (200, bytes.clone()), "{dialect:?}");
        // The crate reads no further than the file was long when it was opened.
        file.close().await.unwrap();
        let open = FileCreateArgs::make_open_existing(all());
        let file = client.create_file(&share.clone().with_path(&name), &open).await.unwrap().unwrap_file();
        let (mut read, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        while read.len() < bytes.len() {
            let count = file.read_at(&mut buffer, read.len() as u64).await.unwrap();
            assert!(count > 0, "{dialect:?}: {} bytes were read", read.len());
            read.extend_from_slice(&buffer[..count]);
        }
        assert!(read == bytes && file.get_len().await.unwrap() == bytes.len() as u64);
        file.set_info(FileDispositionInformation::default()).await.unwrap();
        assert_eq!(rest(&server, "GET", &format!("{SHARE}/{name}"), "a=b").0, 409, "it is about to go");
        file.close().await.unwrap();
        assert_eq!(rest(&server, "GET", &format!("{SHARE}/{name}"), "a=b").0, 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_listed_and_a_share_mode_is_kept() {
    let server = Server::start();
    assert_eq!(rest(&server, "PUT", SHARE, "restype=share").0, 201);
    let (client, share) = connect(&server, Dialect::Smb0311, EncryptionMode::Required).await;
    for number in 0..300 {
        let path = share.clone().with_path(&format!("file-{number:03}.txt"));
        client.create_file(&path, &create()).await.unwrap().unwrap_file().close().await.unwrap();
    }
    let listed = FileAccessMask::new().with_generic_read(true);
    let open = FileCreateArgs::make_open_existing(listed);
    let directory = std::sync::Arc::new(client.create_file(&share, &open).await.unwrap().unwrap_dir());
    let entries = smb::Directory::query::<FileDirectoryInformation>(&directory, "*").await.unwrap();
    let names: Vec<String> = entries.map(|entry| entry.unwrap().file_name.to_string()).collect().await;
    let files: Vec<&String> = names.iter().filter(|name| name.starts_with("file-")).collect();
    assert_eq!((files.len(), files.is_sorted()), (300, true), "{names:?}");

    // The crate opens for everybody; nobody else may delete over REST what is open without that.
    let path = share.clone().with_path("file-000.txt");
    let file = client.create_file(&path, &FileCreateArgs::make_open_existing(all())).await.unwrap().unwrap_file();
    assert_eq!(rest(&server, "GET", &format!("{SHARE}/file-000.txt"), "a=b").0, 200);
    file.close().await.unwrap();
    assert_eq!(rest(&server, "DELETE", &format!("{SHARE}/file-000.txt"), "a=b").0, 202);
    let gone = client.create_file(&path, &FileCreateArgs::make_open_existing(all())).await;
    let refused = gone.err().map(|error| error.to_string()).unwrap();
    assert!(refused.contains("Object Name Not Found"), "{refused}");
}
