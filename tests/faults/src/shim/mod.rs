//! The one room with `unsafe`: a SQLite VFS that passes each call to the platform's, and asks and tells `State` around it.
//!
//! It is sound because
//! - the table, its name and what it points to are leaked: they outlive every connection;
//! - the functions are called by SQLite only, with the arguments that its documentation promises: `vfs` is the table that was
//!   registered here, a file is one that `open` here has filled, and buffers are as long as it says;
//! - a file of ours is followed in memory by the platform's own (`szOsFile` counts both), which nobody but the platform's
//!   functions touches;
//! - what is ours is either immutable, atomic or behind a lock: SQLite calls from many threads;
//! - nothing here panics across the border: a panic would end the process, not unwind into C.
#![allow(
    unsafe_code,
    reason = "SQLite calls a file system through raw pointers; the module's comment says why it is sound"
)]

mod file;

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::Path,
    ptr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_vfs};

use crate::{Class, Effect, Role, state::State};

/// What the functions of one file system share.
#[derive(Debug)]
pub(crate) struct Shared {
    base: *mut sqlite3_vfs,
    state: Mutex<State>,
}

// SAFETY: the platform's table is immutable after SQLite's start but for its link in SQLite's list, which SQLite guards; its
// functions may be called from any thread. The rest is behind a lock.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a file system under a new name.
pub(crate) fn register() -> (&'static str, &'static Shared) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = CString::new(format!("mainstay-faults-{}", NUMBER.fetch_add(1, Relaxed))).expect("no zero in it");
    let name: &'static CStr = Box::leak(name.into_boxed_c_str());
    // SAFETY: no name asks for the default; the result lives as long as the process or is null.
    let base = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    assert!(!base.is_null(), "SQLite has no file system");
    let shared: &'static Shared = Box::leak(Box::new(Shared { base, state: Mutex::default() }));
    // SAFETY: `base` is valid, and these fields never change.
    let (size, longest) = unsafe { ((*base).szOsFile, (*base).mxPathname) };
    let table = Box::leak(Box::new(table(name, shared, size, longest)));
    // SAFETY: the table and all it points to are leaked.
    let code = unsafe { ffi::sqlite3_vfs_register(table, 0) };
    assert_eq!(code, ffi::SQLITE_OK, "SQLite takes the file system");
    (name.to_str().expect("ASCII"), shared)
}

fn table(name: &'static CStr, shared: &'static Shared, size: c_int, longest: c_int) -> sqlite3_vfs {
    sqlite3_vfs {
        iVersion: 2,
        szOsFile: file::SIZE + size,
        mxPathname: longest,
        pNext: ptr::null_mut(),
        zName: name.as_ptr(),
        pAppData: ptr::from_ref(shared).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        // Extensions are not loaded through it.
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// What belongs to a table that was made here.
unsafe fn shared(vfs: *mut sqlite3_vfs) -> &'static Shared {
    // SAFETY: `table` has put a leaked `Shared` there.
    unsafe { &*(*vfs).pAppData.cast::<Shared>() }
}

/// Calls a function of the platform's table; what it has not, fails.
macro_rules! pass {
    ($vfs:ident, $function:ident($($argument:expr),*), otherwise $missing:expr) => {{
        // SAFETY: SQLite gave us the table that it got from here, and arguments that fit; they are passed on as they are.
        unsafe {
            let base = shared($vfs).base;
            match (*base).$function {
                Some(function) => function(base, $($argument),*),
                None => $missing,
            }
        }
    }};
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    target: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite looks at the methods to know whether the file is to be closed; the memory is ours to fill.
    unsafe { (*target).pMethods = ptr::null() };
    // SAFETY: the table is ours.
    let shared = unsafe { shared(vfs) };
    let role = Role::of_flags(flags);
    if let Some(Effect::Fail(code) | Effect::Short(code)) = shared.state().begin(Class::Open, role) {
        return code;
    }
    let inner = file::inner(target);
    let code = pass!(vfs, xOpen(name, inner, flags, out_flags), otherwise ffi::SQLITE_CANTOPEN);
    if code == ffi::SQLITE_OK {
        // SAFETY: `name` is null or ends with a zero; `inner` was opened just now, behind the room for our own part.
        unsafe { file::fill(target, shared, role, text(name).map(file_name), flags) };
    }
    code
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    // SAFETY: the table is ours, and `name` ends with a zero.
    let (shared, file) = unsafe { (shared(vfs), text(name).map(file_name).unwrap_or_default()) };
    match shared.state().begin(Class::Delete, Role::of_name(&file)) {
        None => {}
        Some(Effect::Fail(code) | Effect::Short(code)) => return code,
        Some(Effect::Swallow) => return ffi::SQLITE_OK,
    }
    let code = pass!(vfs, xDelete(name, sync_folder), otherwise ffi::SQLITE_IOERR_DELETE);
    if code == ffi::SQLITE_OK {
        shared.state().deleted(file, sync_folder != 0);
    }
    code
}

unsafe extern "C" fn access(vfs: *mut sqlite3_vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    pass!(vfs, xAccess(name, flags, out), otherwise ffi::SQLITE_IOERR_ACCESS)
}

unsafe extern "C" fn full_pathname(vfs: *mut sqlite3_vfs, name: *const c_char, size: c_int, out: *mut c_char) -> c_int {
    pass!(vfs, xFullPathname(name, size, out), otherwise ffi::SQLITE_CANTOPEN)
}

unsafe extern "C" fn randomness(vfs: *mut sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    pass!(vfs, xRandomness(size, out), otherwise 0)
}

unsafe extern "C" fn sleep(vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    // SAFETY: the table is ours.
    if unsafe { shared(vfs) }.state().skip_sleeps {
        std::thread::yield_now();
        return microseconds;
    }
    pass!(vfs, xSleep(microseconds), otherwise 0)
}

unsafe extern "C" fn current_time(vfs: *mut sqlite3_vfs, out: *mut f64) -> c_int {
    pass!(vfs, xCurrentTime(out), otherwise ffi::SQLITE_ERROR)
}

unsafe extern "C" fn current_time_int64(vfs: *mut sqlite3_vfs, out: *mut ffi::sqlite3_int64) -> c_int {
    pass!(vfs, xCurrentTimeInt64(out), otherwise ffi::SQLITE_ERROR)
}

unsafe extern "C" fn last_error(vfs: *mut sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    pass!(vfs, xGetLastError(size, out), otherwise 0)
}

/// A C string as text; none for a null pointer.
unsafe fn text(name: *const c_char) -> Option<String> {
    // SAFETY: the caller says that it ends with a zero, where it is not null.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an option of a string")]
fn file_name(path: String) -> String {
    Path::new(&path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The type of an untyped buffer of SQLite.
type Buffer = *mut c_void;
