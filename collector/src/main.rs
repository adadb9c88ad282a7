//! Reads the command line and runs one command; errors go to standard error in one line, exit code 1.

use clap::Parser;
use forge_collector::{cli::Cli, commands};

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("forge-collector: cannot start the async runtime: {error}");
            return std::process::ExitCode::FAILURE;
        }
    };
    match runtime.block_on(commands::run(cli)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("forge-collector: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
