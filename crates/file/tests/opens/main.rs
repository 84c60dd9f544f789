//! The table of opens: the matrix of REST against opens, waiting, handles, places, a model and many threads.

mod handles;
mod locks;
mod matrix;
mod model;
mod places;
mod stress;
mod support;
mod waiting;
