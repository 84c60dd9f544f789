//! QUERY_DIRECTORY: what is in a directory, an answer at a time.
//!
//! A listing goes on by name: the next answer begins with the first name that did not fit, so entries that come and go
//! meanwhile neither repeat others nor hide them, and a directory of any size costs what an answer holds.

use file::list::Listed;

use crate::{
    NtStatus,
    described::Described,
    errors::status_of,
    open::{Disk, Open, Reply},
    request::Cx,
    wildcard::Pattern,
    wire::{
        create::access,
        info::directory::{DirectoryBuffer, DirectoryClass, Entry},
        query::{BufferResponse, QueryDirectoryRequest, directory_flags},
        text,
    },
};

/// Entries that are looked at in one go.
const PAGE: usize = 512;
/// Entries that one answer looks at when hardly any matches.
const LOOKED_AT: usize = 65_536;

/// Where a listing is.
#[derive(Default)]
pub(crate) struct Cursor {
    /// What is listed; set by the first query.
    pattern: Option<Wanted>,
    next: Next,
    /// An entry was found by this pattern.
    found: bool,
}

struct Wanted {
    pattern: Pattern,
    /// What every name that matches begins with.
    prefix: String,
}

#[derive(Default, PartialEq, Eq)]
enum Next {
    /// The directory itself.
    #[default]
    Dot,
    /// The one above.
    DotDot,
    /// The entries from a place on; from the first one.
    Entries(Option<String>),
    /// Nothing is left.
    End,
}

/// Lists a directory, from where the last query ended.
pub(crate) async fn query(cx: &Cx<'_>, open: &Open, request: &QueryDirectoryRequest<'_>) -> Result<Reply, NtStatus> {
    let disk = open.disk()?;
    if !disk.is_directory {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    open.needs(access::READ_DATA)?;
    let class = DirectoryClass::numbered(request.file_information_class).ok_or(NtStatus::INVALID_INFO_CLASS)?;
    if request.output_buffer_length > cx.connection.most_bytes() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let limit = usize::try_from(request.output_buffer_length).unwrap_or(usize::MAX);
    if limit < class.fixed() {
        return Err(NtStatus::INFO_LENGTH_MISMATCH);
    }
    let mut cursor = disk.cursor.lock().await;
    cursor.begin(request)?;
    let single = request.flags & directory_flags::RETURN_SINGLE_ENTRY != 0;
    let mut buffer = DirectoryBuffer::new(class, limit);
    let full = fill(cx, disk, &mut cursor, &mut buffer, single).await?;
    if buffer.is_empty() {
        return Err(match (full, cursor.found) {
            // Not even one fits.
            (true, _) => NtStatus::INFO_LENGTH_MISMATCH,
            (false, true) => NtStatus::NO_MORE_FILES,
            (false, false) => NtStatus::NO_SUCH_FILE,
        });
    }
    let bytes = buffer.into_bytes();
    Ok(Reply::body(|body| BufferResponse { buffer: &bytes }.encode(body)))
}

impl Cursor {
    fn begin(&mut self, request: &QueryDirectoryRequest<'_>) -> Result<(), NtStatus> {
        let restarts = request.flags & (directory_flags::RESTART_SCANS | directory_flags::REOPEN) != 0;
        if self.pattern.is_some() && !restarts {
            return Ok(());
        }
        let pattern = text::decode(request.pattern)?;
        // A restart keeps the pattern unless it brings another one.
        if self.pattern.is_none() || !pattern.is_empty() {
            let pattern = if pattern.is_empty() { "*".to_owned() } else { pattern };
            let prefix = pattern.split(['*', '?', '<', '>', '"']).next().unwrap_or_default().to_owned();
            self.pattern = Some(Wanted { pattern: Pattern::new(&pattern, file::upcased)?, prefix });
        }
        (self.next, self.found) = (Next::Dot, false);
        Ok(())
    }
}

/// Puts entries into a buffer. True when one did not fit.
async fn fill(
    cx: &Cx<'_>,
    disk: &Disk,
    cursor: &mut Cursor,
    buffer: &mut DirectoryBuffer,
    single: bool,
) -> Result<bool, NtStatus> {
    let Some(wanted) = &cursor.pattern else { return Ok(false) };
    let handle = disk.handle().await?;
    let mut looked = 0;
    loop {
        let marker = match &cursor.next {
            Next::End => return Ok(false),
            Next::Entries(marker) => marker.clone(),
            dots => {
                let is_first = *dots == Next::Dot;
                let name = if is_first { "." } else { ".." };
                if wanted.pattern.matches(name, file::upcased) {
                    let properties = cx.files().open_properties(&handle).await.map_err(|error| status_of(&error))?;
                    if !buffer.push(&entry(name, &Described::of(&properties))) {
                        return Ok(true);
                    }
                    cursor.found = true;
                }
                cursor.next = if is_first { Next::DotDot } else { Next::Entries(None) };
                if single && !buffer.is_empty() {
                    return Ok(false);
                }
                continue;
            }
        };
        let page = cx.files().list_open(&handle, &wanted.prefix, marker.as_deref(), if single { 16 } else { PAGE });
        let page = page.await.map_err(|error| status_of(&error))?;
        for Listed { name, properties } in &page.entries {
            looked += 1;
            if !wanted.pattern.matches(name, file::upcased) {
                continue;
            }
            let here = || Next::Entries(Some(file::upcased_name(name)));
            if single && !buffer.is_empty() {
                cursor.next = here();
                return Ok(false);
            }
            if !buffer.push(&entry(name, &Described::of(properties))) {
                cursor.next = here();
                return Ok(true);
            }
            cursor.found = true;
        }
        cursor.next = page.next.map_or(Next::End, |next| Next::Entries(Some(next)));
        if looked >= LOOKED_AT && !buffer.is_empty() {
            return Ok(false);
        }
    }
}

const fn entry<'a>(name: &'a str, described: &Described) -> Entry<'a> {
    Entry {
        name,
        times: described.times(),
        end_of_file: described.length,
        allocation_size: described.allocation,
        file_attributes: described.attributes,
        file_id: described.inode,
    }
}
