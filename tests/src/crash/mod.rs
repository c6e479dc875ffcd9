//! The command killed by SIGKILL at named points, then started again: nothing acknowledged is lost, nothing happens twice.

mod barriers;

mod swaps;
