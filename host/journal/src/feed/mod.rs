//! The feed of a journal: what is asked of it, the pages that answer, and the delivery of each commit's events to those who
//! follow. Pages are the truth; what is delivered live is what the next page would have said.

mod filter;
mod live;
mod page;
mod subscription;
#[cfg(test)]
mod tests;

pub(crate) use filter::WORKSPACE;
pub use filter::{FeedFilter, FeedQuery};
pub(crate) use live::{Gathering, Live};
pub use page::{DamagedEvent, FeedPage};
pub use subscription::{FeedDelivery, FeedSubscription};
