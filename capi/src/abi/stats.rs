//! What has happened in this process so far.

/// Counts of one engine in this process. A forked child counts anew.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct fx402_stats {
    /// sizeof(fx402_stats); what lies beyond it is not written.
    pub struct_size: u32,
    /// 1 while the thread that posts events runs in this process.
    pub worker_running: u32,
    /// Which process of a line of forks this is.
    pub generation: u64,
    /// Events waiting now.
    pub queued: u64,
    /// Events the collector has taken.
    pub sent: u64,
    /// Events lost: no room, refused, too late, or after a shutdown.
    pub dropped: u64,
    /// Posts that failed; most are tried again.
    pub failed_posts: u64,
    /// Panics contained.
    pub internal_errors: u64,
    /// Ids made.
    pub minted: u64,
    /// Challenges that gained the ask.
    pub described: u64,
    /// Things left alone.
    pub skipped: u64,
}
