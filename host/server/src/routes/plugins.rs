//! Plugins: what is active, and the hot swap.

use std::path::Path;

use axum::{Json, extract::State};

use super::{
    Shared,
    extract::{Body, PluginPath},
};
use crate::{
    errors::ApiError,
    wire::v1::{PluginList, SwapRequest, SwapView},
};

pub(super) async fn list(State(shared): State<Shared>) -> Json<PluginList> {
    Json(PluginList { plugins: shared.host.plugins() })
}

/// The client names a path because it is a process of the same user on the same machine; the host's working folder is not its
/// own, hence absolute.
pub(super) async fn swap(
    State(shared): State<Shared>,
    PluginPath(plugin): PluginPath,
    Body(request): Body<SwapRequest>,
) -> Result<Json<SwapView>, ApiError> {
    let path = Path::new(&request.path);
    if !path.is_absolute() {
        return Err(ApiError::bad_request("`path` must be absolute: the host's working folder is not yours"));
    }
    Ok(Json(shared.host.swap(&plugin, path).await?))
}
