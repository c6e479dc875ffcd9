//! The numbered behaviours of the event store: E01 to E18, through the public API of core and journal, without guests. A page of
//! observations is one keyed transition.

mod faults;
mod operations;
mod pages;
mod receipts;
mod session;
mod stores;
mod turns;
