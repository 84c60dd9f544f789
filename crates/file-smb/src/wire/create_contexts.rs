//! The contexts of CREATE (MS-SMB2 2.2.13.2, 2.2.14.2): chained name and data, like a list of attributes.
//!
//! **Invariant.** A list that is accepted is walked once, forwards; contexts with unknown names are ignored. Of a name that
//! comes twice the last counts, as with smbd.

use super::{
    FileId,
    bytes::{Field, Reader, align, layout, length16, length32, part, patch32, size},
};
use crate::NtStatus;
use bytes::BufMut;

/// More contexts in one request are refused.
const MAX_CONTEXTS: usize = 64;

/// Names of contexts.
pub mod name {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13.2")]
    pub const EXTENDED_ATTRIBUTES: &[u8] = b"ExtA";
    pub const SECURITY_DESCRIPTOR: &[u8] = b"SecD";
    pub const DURABLE_REQUEST: &[u8] = b"DHnQ";
    pub const DURABLE_RECONNECT: &[u8] = b"DHnC";
    pub const ALLOCATION_SIZE: &[u8] = b"AlSi";
    pub const MAXIMAL_ACCESS: &[u8] = b"MxAc";
    pub const TIMEWARP: &[u8] = b"TWrp";
    pub const QUERY_ON_DISK_ID: &[u8] = b"QFid";
    pub const LEASE: &[u8] = b"RqLs";
    pub const DURABLE_REQUEST_V2: &[u8] = b"DH2Q";
    pub const DURABLE_RECONNECT_V2: &[u8] = b"DH2C";
}

/// States of a lease, bits.
pub mod lease_state {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13.2.8")]
    pub const READ: u32 = 1;
    pub const HANDLE: u32 = 2;
    pub const WRITE: u32 = 4;
}

/// A lease that is asked for or granted, version 1 or 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Chosen by the client, the same for all its opens of a file.
    pub key: [u8; 16],
    /// See [`lease_state`].
    pub state: u32,
    /// 2 in a response: a break is in progress. 4: the parent's key is set.
    pub flags: u32,
    /// What only version 2 has.
    pub v2: Option<LeaseV2>,
}

layout! {
    /// What version 2 of a lease has more.
    LeaseV2 {
        /// The key of the lease of the directory.
        parent_key: [u8; 16],
        /// Counts changes of state.
        epoch: u16,
    }
}

/// In a lease's flags: a break is in progress.
pub const LEASE_FLAG_BREAK_IN_PROGRESS: u32 = 2;
/// In a lease's flags: the key of the parent is set.
pub const LEASE_FLAG_PARENT_KEY_SET: u32 = 4;

impl Lease {
    fn parse(data: &[u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::new(data);
        let (key, state, flags) = (reader.array()?, reader.u32()?, reader.u32()?);
        reader.skip(8)?;
        let v2 = match data.len() {
            32 => None,
            52 => Some(LeaseV2::read(&mut reader)?),
            _other => return Err(NtStatus::INVALID_PARAMETER),
        };
        Ok(Self { key, state, flags, v2 })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_slice(&self.key);
        out.put_u32_le(self.state);
        out.put_u32_le(self.flags);
        out.put_u64_le(0);
        if let Some(v2) = &self.v2 {
            v2.write(out);
            out.put_u16_le(0);
        }
    }
}

layout! {
    /// DH2Q: an open that survives its connection.
    DurableRequestV2 {
        /// Milliseconds; 0 leaves it to the server.
        timeout_ms: u32,
        /// 2: it survives the server too.
        flags: u32 => 8,
        create_guid: [u8; 16],
    }
}

layout! {
    /// DH2C: takes an open back.
    DurableReconnectV2 {
        file_id: FileId,
        create_guid: [u8; 16],
        flags: u32,
    }
}

/// In flags of DH2Q and DH2C: the open is persistent.
pub const DURABLE_PERSISTENT: u32 = 2;

/// What a CREATE asks besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateContexts<'a> {
    /// ExtA: a list of extended attributes, which are not supported.
    pub extended_attributes: Option<&'a [u8]>,
    /// SecD: a security descriptor.
    pub security_descriptor: Option<&'a [u8]>,
    /// DHnQ.
    pub durable_request: bool,
    /// DHnC.
    pub durable_reconnect: Option<FileId>,
    /// DH2Q.
    pub durable_request_v2: Option<DurableRequestV2>,
    /// DH2C.
    pub durable_reconnect_v2: Option<DurableReconnectV2>,
    /// AlSi.
    pub allocation_size: Option<u64>,
    /// MxAc; inside, the timestamp that may come with it.
    pub maximal_access: Option<Option<u64>>,
    /// TWrp: the snapshot, a FILETIME.
    pub timewarp: Option<u64>,
    /// QFid.
    pub query_on_disk_id: bool,
    /// RqLs.
    pub lease: Option<Lease>,
}

impl<'a> CreateContexts<'a> {
    /// Reads a list; an empty one has no contexts.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(list: &'a [u8]) -> Result<Self, NtStatus> {
        let mut contexts = Self::default();
        for context in Contexts::new(list) {
            let (name, data) = context?;
            contexts.add(name, data)?;
        }
        Ok(contexts)
    }

    fn add(&mut self, name: &[u8], data: &'a [u8]) -> Result<(), NtStatus> {
        match name {
            name::EXTENDED_ATTRIBUTES => self.extended_attributes = Some(data),
            name::SECURITY_DESCRIPTOR => self.security_descriptor = Some(data),
            name::DURABLE_REQUEST => {
                exactly::<16>(data)?;
                self.durable_request = true;
            }
            name::DURABLE_RECONNECT => self.durable_reconnect = Some(fixed(data, 16)?),
            name::DURABLE_REQUEST_V2 => self.durable_request_v2 = Some(fixed(data, 32)?),
            name::DURABLE_RECONNECT_V2 => self.durable_reconnect_v2 = Some(fixed(data, 36)?),
            name::ALLOCATION_SIZE => self.allocation_size = Some(fixed(data, 8)?),
            name::MAXIMAL_ACCESS if data.is_empty() => self.maximal_access = Some(None),
            name::MAXIMAL_ACCESS => self.maximal_access = Some(Some(fixed(data, 8)?)),
            name::TIMEWARP => self.timewarp = Some(fixed(data, 8)?),
            name::QUERY_ON_DISK_ID if data.is_empty() => self.query_on_disk_id = true,
            name::QUERY_ON_DISK_ID => return Err(NtStatus::INVALID_PARAMETER),
            name::LEASE => self.lease = Some(Lease::parse(data)?),
            _unknown => {}
        }
        Ok(())
    }

    /// Appends the list, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut list = ResponseContexts::default();
        let mut put = |name: &[u8], data: &[u8]| list.add(name, data);
        if let Some(data) = self.extended_attributes {
            put(name::EXTENDED_ATTRIBUTES, data);
        }
        if let Some(data) = self.security_descriptor {
            put(name::SECURITY_DESCRIPTOR, data);
        }
        if self.durable_request {
            put(name::DURABLE_REQUEST, &[0; 16]);
        }
        if let Some(file_id) = &self.durable_reconnect {
            put(name::DURABLE_RECONNECT, &written(file_id));
        }
        if let Some(request) = &self.durable_request_v2 {
            put(name::DURABLE_REQUEST_V2, &written(request));
        }
        if let Some(reconnect) = &self.durable_reconnect_v2 {
            put(name::DURABLE_RECONNECT_V2, &written(reconnect));
        }
        if let Some(size) = &self.allocation_size {
            put(name::ALLOCATION_SIZE, &size.to_le_bytes());
        }
        match &self.maximal_access {
            None => {}
            Some(None) => put(name::MAXIMAL_ACCESS, &[]),
            Some(Some(timestamp)) => put(name::MAXIMAL_ACCESS, &timestamp.to_le_bytes()),
        }
        if let Some(timestamp) = &self.timewarp {
            put(name::TIMEWARP, &timestamp.to_le_bytes());
        }
        if self.query_on_disk_id {
            put(name::QUERY_ON_DISK_ID, &[]);
        }
        if let Some(lease) = &self.lease {
            list.lease(lease);
        }
        out.put_slice(list.as_bytes());
    }
}

fn exactly<const N: usize>(data: &[u8]) -> Result<[u8; N], NtStatus> {
    data.try_into().map_err(|_other| NtStatus::INVALID_PARAMETER)
}

fn fixed<T: Field>(data: &[u8], length: usize) -> Result<T, NtStatus> {
    if data.len() != length {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    T::read(&mut Reader::new(data))
}

fn written(field: &impl Field) -> Vec<u8> {
    let mut out = Vec::new();
    field.write(&mut out);
    out
}

/// Goes through a list of contexts: name and data.
#[derive(Clone, Debug)]
pub struct Contexts<'a> {
    rest: Option<&'a [u8]>,
    count: usize,
}

impl<'a> Contexts<'a> {
    /// A list; an empty one has no contexts.
    #[must_use]
    pub fn new(list: &'a [u8]) -> Self {
        Self { rest: Some(list).filter(|list| !list.is_empty()), count: 0 }
    }

    fn context(&mut self, list: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), NtStatus> {
        self.count = self.count.saturating_add(1);
        let mut reader = Reader::new(list);
        let next = size(reader.u32()?);
        let (name_offset, name_length) = (usize::from(reader.u16()?), usize::from(reader.u16()?));
        reader.skip(2)?;
        let (data_offset, data_length) = (usize::from(reader.u16()?), size(reader.u32()?));
        let own = match next {
            0 => list,
            next if next % 8 != 0 || next < 16 || self.count >= MAX_CONTEXTS => {
                return Err(NtStatus::INVALID_PARAMETER);
            }
            next => {
                let (own, rest) = list.split_at_checked(next).ok_or(NtStatus::INVALID_PARAMETER)?;
                self.rest = Some(rest);
                own
            }
        };
        // Names are of four bytes, or of 16 (GUIDs) when they are of others.
        if name_length < 4 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let name = part(own, name_offset, name_length, 16)?;
        let data = part(own, data_offset, data_length, name_offset.saturating_add(name_length))?;
        Ok((name, data))
    }
}

impl<'a> Iterator for Contexts<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), NtStatus>;

    fn next(&mut self) -> Option<Self::Item> {
        let list = self.rest.take()?;
        Some(self.context(list))
    }
}

/// The contexts of a response, written one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseContexts {
    out: Vec<u8>,
    last: usize,
}

impl ResponseContexts {
    /// The list, empty when nothing was added.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.out
    }

    /// Adds a context with a name of four bytes.
    pub fn add(&mut self, name: &[u8], data: &[u8]) {
        if !self.out.is_empty() {
            align(&mut self.out, 0, 8);
            let next = length32(self.out.len().saturating_sub(self.last));
            patch32(&mut self.out, self.last, next);
        }
        self.last = self.out.len();
        self.out.put_u32_le(0);
        self.out.put_u16_le(16);
        self.out.put_u16_le(length16(name.len()));
        self.out.put_u16_le(0);
        self.out.put_u16_le(if data.is_empty() { 0 } else { 24 });
        self.out.put_u32_le(length32(data.len()));
        self.out.put_slice(name);
        if !data.is_empty() {
            align(&mut self.out, self.last, 8);
            self.out.put_slice(data);
        }
    }

    /// MxAc: what the user may do at most, or why that is not known.
    pub fn maximal_access(&mut self, status: NtStatus, access: u32) {
        let mut data = Vec::with_capacity(8);
        data.put_u32_le(status.0);
        data.put_u32_le(access);
        self.add(name::MAXIMAL_ACCESS, &data);
    }

    /// QFid: the file and its volume.
    pub fn on_disk_id(&mut self, file_id: u64, volume_id: u64) {
        let mut data = Vec::with_capacity(32);
        data.put_u64_le(file_id);
        data.put_u64_le(volume_id);
        data.put_bytes(0, 16);
        self.add(name::QUERY_ON_DISK_ID, &data);
    }

    /// RqLs: what was granted, in the version that was asked for.
    pub fn lease(&mut self, lease: &Lease) {
        let mut data = Vec::with_capacity(52);
        lease.encode(&mut data);
        self.add(name::LEASE, &data);
    }

    /// DHnQ: the open is durable.
    pub fn durable(&mut self) {
        self.add(name::DURABLE_REQUEST, &[0; 8]);
    }

    /// DH2Q: the open is durable for so long, and persistent when [`DURABLE_PERSISTENT`] is set.
    pub fn durable_v2(&mut self, timeout_ms: u32, flags: u32) {
        let mut data = Vec::with_capacity(8);
        data.put_u32_le(timeout_ms);
        data.put_u32_le(flags);
        self.add(name::DURABLE_REQUEST_V2, &data);
    }
}
