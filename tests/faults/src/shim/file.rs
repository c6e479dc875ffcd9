//! An open file: our part, the platform's behind it, and the table of functions that stands between them. See the parent's
//! comment for why it is sound.

use std::{
    ffi::{c_int, c_void},
    ptr, slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};

use super::{Buffer, Shared};
use crate::{Class, Effect, Event, FileId, Role, state::State};

/// Calls a function of the platform's part; what it has not, fails.
macro_rules! pass {
    ($file:ident, $function:ident($($argument:expr),*), otherwise $missing:expr) => {{
        let inner = inner($file);
        // SAFETY: the platform's part is open from `open` to `close`; the arguments are SQLite's own, or ours and fit.
        #[allow(unused_unsafe, reason = "some callers are in an unsafe block already")]
        unsafe {
            match (*(*inner).pMethods).$function {
                Some(function) => function(inner, $($argument),*),
                None => $missing,
            }
        }
    }};
}
/// Our part of a file. SQLite sees its first field only; the platform's file begins right behind it.
#[repr(C, align(8))]
struct File {
    base: sqlite3_file,
    shared: &'static Shared,
    role: Role,
    /// None for a file without a name, and for one that was opened while nothing was recorded.
    id: Option<FileId>,
    /// Whether the next sync takes the folder along, as the platform does with a journal or log that it may have made.
    syncs_folder: AtomicBool,
}

/// The size of our part, in bytes.
pub(super) const SIZE: c_int = size_of::<File>() as c_int;

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

/// The platform's part of a file.
pub(super) fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    file.wrapping_byte_add(size_of::<File>())
}

/// Fills our part of a file whose platform's part is open, and tells of it when it is new.
pub(super) unsafe fn fill(
    file: *mut sqlite3_file,
    shared: &'static Shared,
    role: Role,
    name: Option<String>,
    flags: c_int,
) {
    let journals = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
    let syncs_folder = flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & journals != 0;
    let base = sqlite3_file { pMethods: &raw const METHODS };
    let own = File { base, shared, role, id: None, syncs_folder: AtomicBool::new(syncs_folder) };
    // SAFETY: SQLite gave room for our part and the platform's, aligned to 8 bytes, and uses it only after `open` has returned.
    unsafe {
        file.cast::<File>().write(own);
        (*file.cast::<File>()).id = name.and_then(|name| identify(file, &mut shared.state(), name));
    }
}

/// The number of a file, told with its content when it comes into sight.
unsafe fn identify(file: *mut sqlite3_file, state: &mut State, name: String) -> Option<FileId> {
    if !state.is_recording() {
        return None;
    }
    if let Some(known) = state.known(&name) {
        return Some(known);
    }
    // SAFETY: the platform's part is open.
    let content = unsafe { content(file) };
    Some(state.opened(name, content))
}

/// All that a file holds, read through the platform.
unsafe fn content(file: *mut sqlite3_file) -> Arc<[u8]> {
    let mut size: sqlite3_int64 = 0;
    // SAFETY: the platform's part is open; the buffer is as long as is said.
    unsafe {
        file_size(file, &raw mut size);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        for (index, piece) in bytes.chunks_mut(1 << 20).enumerate() {
            let (length, offset) = (piece.len() as c_int, (index as sqlite3_int64) << 20);
            pass!(file, xRead(piece.as_mut_ptr().cast(), length, offset), otherwise ffi::SQLITE_IOERR_READ);
        }
        bytes.into()
    }
}

/// Our part of a file.
unsafe fn own<'a>(file: *mut sqlite3_file) -> &'a File {
    // SAFETY: `fill` has filled it, and it is shared only from then on.
    unsafe { &*file.cast::<File>() }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // Our part has nothing that must be dropped.
    pass!(file, xClose(), otherwise ffi::SQLITE_OK)
}

unsafe extern "C" fn read(file: *mut sqlite3_file, buffer: Buffer, length: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls with a file that is open.
    let own = unsafe { own(file) };
    if let Some(Effect::Fail(code) | Effect::Short(code)) = own.shared.state().begin(Class::Read, own.role) {
        return code;
    }
    pass!(file, xRead(buffer, length, offset), otherwise ffi::SQLITE_IOERR_READ)
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    buffer: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls with a file that is open.
    let own = unsafe { own(file) };
    let (length, failure) = match own.shared.state().begin(Class::Write, own.role) {
        None => (length, None),
        Some(Effect::Fail(code)) => return code,
        Some(Effect::Swallow) => return ffi::SQLITE_OK,
        Some(Effect::Short(code)) => (length / 2, Some(code)),
    };
    let code = pass!(file, xWrite(buffer, length, offset), otherwise ffi::SQLITE_IOERR_WRITE);
    if code == ffi::SQLITE_OK
        && let Some(id) = own.id
    {
        // SAFETY: SQLite's buffer has at least this many bytes.
        let bytes = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), usize::try_from(length).unwrap_or(0)) };
        own.shared.state().tell(Event::Write { file: id, offset: offset.unsigned_abs(), bytes: bytes.into() });
    }
    failure.unwrap_or(code)
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls with a file that is open.
    let own = unsafe { own(file) };
    match own.shared.state().begin(Class::Truncate, own.role) {
        None => {}
        Some(Effect::Fail(code) | Effect::Short(code)) => return code,
        Some(Effect::Swallow) => return ffi::SQLITE_OK,
    }
    let code = pass!(file, xTruncate(size), otherwise ffi::SQLITE_IOERR_TRUNCATE);
    if code == ffi::SQLITE_OK
        && let Some(file) = own.id
    {
        own.shared.state().tell(Event::Truncate { file, size: size.unsigned_abs() });
    }
    code
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite calls with a file that is open.
    let own = unsafe { own(file) };
    let tell = |event: fn(FileId) -> Event| {
        if let Some(id) = own.id {
            own.shared.state().tell(event(id));
        }
    };
    let (covers, skip) = {
        let mut state = own.shared.state();
        let effect = state.begin(Class::Sync, own.role);
        let (covers, skip) = (state.position(), state.skip_syncs);
        drop(state);
        match effect {
            None => (covers, skip),
            Some(Effect::Fail(code) | Effect::Short(code)) => {
                tell(|file| Event::SyncFailed { file });
                return code;
            }
            Some(Effect::Swallow) => {
                tell(|file| Event::SyncSwallowed { file });
                return ffi::SQLITE_OK;
            }
        }
    };
    let code = if skip { ffi::SQLITE_OK } else { pass!(file, xSync(flags), otherwise ffi::SQLITE_IOERR_FSYNC) };
    if code != ffi::SQLITE_OK {
        tell(|file| Event::SyncFailed { file });
    } else if let Some(file) = own.id {
        let folder = own.syncs_folder.swap(false, Relaxed);
        own.shared.state().tell(Event::Sync { file, covers, folder });
    }
    code
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, out: *mut sqlite3_int64) -> c_int {
    pass!(file, xFileSize(out), otherwise ffi::SQLITE_IOERR_FSTAT)
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    pass!(file, xLock(level), otherwise ffi::SQLITE_IOERR_LOCK)
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    pass!(file, xUnlock(level), otherwise ffi::SQLITE_IOERR_UNLOCK)
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    pass!(file, xCheckReservedLock(out), otherwise ffi::SQLITE_IOERR_CHECKRESERVEDLOCK)
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, what: c_int, argument: Buffer) -> c_int {
    pass!(file, xFileControl(what, argument), otherwise ffi::SQLITE_NOTFOUND)
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    pass!(file, xSectorSize(), otherwise 4096)
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    pass!(file, xDeviceCharacteristics(), otherwise 0)
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut Buffer,
) -> c_int {
    // SAFETY: SQLite calls with a file that is open.
    let own = unsafe { own(file) };
    if let Some(Effect::Fail(code) | Effect::Short(code)) = own.shared.state().begin(Class::ShmMap, own.role) {
        // SAFETY: SQLite gave the place for the answer, and takes none for a failure.
        unsafe { *out = ptr::null_mut() };
        return code;
    }
    pass!(file, xShmMap(region, size, extend, out), otherwise ffi::SQLITE_IOERR_SHMMAP)
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, offset: c_int, count: c_int, flags: c_int) -> c_int {
    pass!(file, xShmLock(offset, count, flags), otherwise ffi::SQLITE_IOERR_SHMLOCK)
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    pass!(file, xShmBarrier(), otherwise());
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    pass!(file, xShmUnmap(delete), otherwise ffi::SQLITE_OK)
}

unsafe extern "C" fn fetch(file: *mut sqlite3_file, offset: sqlite3_int64, length: c_int, out: *mut Buffer) -> c_int {
    // SAFETY: SQLite gave the place for the answer; null means that the page is to be read.
    unsafe { *out = ptr::null_mut() };
    pass!(file, xFetch(offset, length, out), otherwise ffi::SQLITE_OK)
}

unsafe extern "C" fn unfetch(file: *mut sqlite3_file, offset: sqlite3_int64, page: Buffer) -> c_int {
    pass!(file, xUnfetch(offset, page), otherwise ffi::SQLITE_OK)
}
