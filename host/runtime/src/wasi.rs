//! WASI for one plugin: always linked, empty but for what the grant says. No arguments, no standard input, no sockets;
//! clocks and randomness are real.

use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, filesystem::WasiFilesystemCtx};

use crate::{
    capture::Capture,
    grant::{Access, DirGrant, Grant},
};

/// A granted folder that can not be opened. The path stays out of the message; the driver knows it by the guest path.
#[derive(Debug, thiserror::Error)]
#[error("the folder that the guest sees as `{guest}` can not be opened: {why}")]
pub struct DirError {
    /// Where the guest would see it.
    pub guest: String,
    /// What the system says.
    pub why: String,
}

/// The most random bytes that a guest gets at once: the host holds them in memory of its own.
const LARGEST_RANDOM: u64 = 1 << 20;

/// What each call's WASI context is made from. The granted folders are open: each call gets the same ones.
pub(crate) struct Wasi {
    folders: WasiFilesystemCtx,
    env: Vec<(String, String)>,
}

impl Wasi {
    /// Opens what the grant names.
    pub(crate) fn new(grant: &Grant) -> Result<Self, DirError> {
        let mut builder = WasiCtxBuilder::new();
        for dir in grant.dirs() {
            open(&mut builder, dir)?;
        }
        let folders = std::mem::take(builder.build().filesystem());
        let env = grant.env().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Self { folders, env })
    }

    /// The context of one call, which writes to `capture`.
    pub(crate) fn context(&self, capture: &Capture) -> WasiCtx {
        let mut builder = WasiCtxBuilder::new();
        builder.envs(&self.env).stdout(capture.clone()).stderr(capture.clone());
        builder.max_random_size(LARGEST_RANDOM);
        builder.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
        let mut context = builder.build();
        *context.filesystem() = self.folders.clone();
        context
    }
}

fn open(builder: &mut WasiCtxBuilder, dir: &DirGrant) -> Result<(), DirError> {
    let permissions = match dir.access() {
        Access::ReadOnly => FsPerms::ReadOnly,
        Access::ReadWrite => FsPerms::ReadWrite,
    };
    match builder.preopened_dir(dir.host(), dir.guest(), permissions) {
        Ok(_) => Ok(()),
        Err(error) => Err(DirError { guest: dir.guest().to_owned(), why: error.root_cause().to_string() }),
    }
}
