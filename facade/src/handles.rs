//! Numbers in place of objects, for languages that can hold nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::io_thread::lock;
use crate::queue::next_id;

/// Objects by number. A number is never given twice, so one that was released finds nothing, and never another object.
pub struct Handles<T: ?Sized> {
    objects: Mutex<Option<HashMap<u64, Arc<T>>>>,
}

impl<T: ?Sized> Handles<T> {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            objects: Mutex::new(None),
        }
    }

    /// Takes an object in. The number is not 0.
    pub fn insert(&self, object: Arc<T>) -> u64 {
        let handle = next_id();
        self.insert_as(handle, object);
        handle
    }

    /// Takes an object in under a number that is its own, such as [`Tool::id`](crate::Tool::id).
    pub fn insert_as(&self, handle: u64, object: Arc<T>) {
        lock(&self.objects)
            .get_or_insert_default()
            .insert(handle, object);
    }

    /// The object of this number.
    pub fn find(&self, handle: u64) -> Option<Arc<T>> {
        lock(&self.objects).as_ref()?.get(&handle).cloned()
    }

    /// The number of an object that is here; 0 when none is it.
    pub fn number_of(&self, is_it: impl Fn(&T) -> bool) -> u64 {
        let table = lock(&self.objects);
        let mut objects = table.iter().flatten();
        let found = objects.find(|(_, object)| is_it(object));
        found.map_or(0, |(number, _)| *number)
    }

    /// Forgets the object of this number. Returns whether there was one.
    pub fn release(&self, handle: u64) -> bool {
        let released = {
            let mut table = lock(&self.objects);
            let released = table.as_mut().and_then(|objects| objects.remove(&handle));
            // What is empty holds no memory, so that nothing is left for who looks for leaks.
            if table.as_ref().is_some_and(HashMap::is_empty) {
                *table = None;
            }
            released
        };
        // Outside of the lock: an object's end may take a while.
        released.is_some()
    }

    /// How many there are, for tests of leaks.
    pub fn count(&self) -> usize {
        lock(&self.objects).as_ref().map_or(0, HashMap::len)
    }
}

impl<T: ?Sized> Default for Handles<T> {
    fn default() -> Self {
        Self::new()
    }
}
