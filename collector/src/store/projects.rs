//! Projects and their keys. A key is known by its SHA-256; the derived signing key stays when the key retires.

use anyhow::{Context, Result, bail, ensure};

use super::{Store, on};
use crate::{feedback_id, key};

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Project {
    pub id: i64,
    pub name: String,
    pub public_origin: Option<String>,
    pub created_ms: i64,
}

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct KeyRow {
    pub id: i64,
    pub project_id: i64,
    /// From this moment on the key is refused as a bearer; ids signed with it stay valid for their time.
    pub retired_ms: Option<i64>,
}

impl Store {
    pub async fn add_project(&self, name: &str, origin: Option<&str>, api_key: &str, now_ms: i64) -> Result<Project> {
        let name = check_name(name)?;
        if self.project_by_name(&name).await?.is_some() {
            bail!("there is a project {name:?} already; `project rotate {name}` gives it a new key");
        }
        ensure!(self.key(&key::sha256(api_key)).await?.is_none(), "this key belongs to a project already");
        on!(self.writer(), |pool| {
            let mut transaction = pool.begin_with(self.writer().begin()).await?;
            sqlx::query("INSERT INTO projects (name, public_origin, created_ms) VALUES ($1, $2, $3)")
                .bind(&name)
                .bind(origin)
                .bind(now_ms)
                .execute(&mut *transaction)
                .await?;
            sqlx::query(
                "INSERT INTO project_keys (project_id, sha256, signing_key, created_ms)
                 SELECT id, $2, $3, $4 FROM projects WHERE name = $1",
            )
            .bind(&name)
            .bind(&key::sha256(api_key)[..])
            .bind(feedback_id::signing_key(api_key))
            .bind(now_ms)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
        });
        let project = self.project_by_name(&name).await?.context("the project vanished while it was added")?;
        Ok(project)
    }

    /// A new key; the ones before it are refused from `old_until_ms` on.
    pub async fn rotate_key(&self, project_id: i64, api_key: &str, old_until_ms: i64, now_ms: i64) -> Result<()> {
        on!(self.writer(), |pool| {
            sqlx::query("UPDATE project_keys SET retired_ms = $1 WHERE project_id = $2 AND (retired_ms IS NULL OR retired_ms > $1)")
                .bind(old_until_ms)
                .bind(project_id)
                .execute(pool)
                .await
                .map(drop)
        })?;
        self.add_key(project_id, api_key, now_ms).await
    }

    async fn add_key(&self, project_id: i64, api_key: &str, now_ms: i64) -> Result<()> {
        on!(self.writer(), |pool| {
            sqlx::query(
                "INSERT INTO project_keys (project_id, sha256, signing_key, created_ms) VALUES ($1, $2, $3, $4)",
            )
            .bind(project_id)
            .bind(&key::sha256(api_key)[..])
            .bind(feedback_id::signing_key(api_key))
            .bind(now_ms)
            .execute(pool)
            .await
            .map(drop)
        })?;
        Ok(())
    }

    pub async fn set_origin(&self, project_id: i64, origin: Option<&str>) -> Result<()> {
        on!(self.writer(), |pool| {
            sqlx::query("UPDATE projects SET public_origin = $1 WHERE id = $2")
                .bind(origin)
                .bind(project_id)
                .execute(pool)
                .await
                .map(drop)
        })?;
        Ok(())
    }

    /// Deletes the project with all it has: its keys first, so that nothing new comes, then its events in pieces, so that
    /// a running collector waits for milliseconds only.
    pub async fn remove_project(&self, project_id: i64) -> Result<()> {
        on!(self.writer(), |pool| {
            sqlx::query("DELETE FROM project_keys WHERE project_id = $1").bind(project_id).execute(pool).await?;
            let piece = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE project_id = $1 LIMIT 2000)";
            while sqlx::query(piece).bind(project_id).execute(pool).await?.rows_affected() > 0 {}
            let mut transaction = pool.begin_with(self.writer().begin()).await?;
            for statement in [
                "DELETE FROM ratings WHERE project_id = $1",
                "DELETE FROM route_hours WHERE project_id = $1",
                "DELETE FROM caller_days WHERE project_id = $1",
                "DELETE FROM projects WHERE id = $1",
            ] {
                sqlx::query(statement).bind(project_id).execute(&mut *transaction).await?;
            }
            transaction.commit().await?;
        });
        Ok(())
    }

    pub async fn projects(&self) -> Result<Vec<Project>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, Project>("SELECT id, name, public_origin, created_ms FROM projects ORDER BY name")
                .fetch_all(pool)
                .await
        })?)
    }

    pub async fn project(&self, id: i64) -> Result<Option<Project>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, Project>("SELECT id, name, public_origin, created_ms FROM projects WHERE id = $1")
                .bind(id)
                .fetch_optional(pool)
                .await
        })?)
    }

    pub async fn project_by_name(&self, name: &str) -> Result<Option<Project>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, Project>("SELECT id, name, public_origin, created_ms FROM projects WHERE name = $1")
                .bind(name)
                .fetch_optional(pool)
                .await
        })?)
    }

    pub async fn key(&self, sha256: &[u8; 32]) -> Result<Option<KeyRow>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, KeyRow>("SELECT id, project_id, retired_ms FROM project_keys WHERE sha256 = $1")
                .bind(&sha256[..])
                .fetch_optional(pool)
                .await
        })?)
    }

    pub async fn key_by_id(&self, id: i64) -> Result<Option<KeyRow>> {
        Ok(on!(self, |pool| {
            sqlx::query_as::<_, KeyRow>("SELECT id, project_id, retired_ms FROM project_keys WHERE id = $1")
                .bind(id)
                .fetch_optional(pool)
                .await
        })?)
    }

    /// The derived keys of every key the project ever had.
    pub async fn signing_keys(&self, project_id: i64) -> Result<Vec<String>> {
        Ok(on!(self, |pool| {
            sqlx::query_scalar::<_, String>("SELECT signing_key FROM project_keys WHERE project_id = $1 ORDER BY id")
                .bind(project_id)
                .fetch_all(pool)
                .await
        })?)
    }

    /// The secret that signs dashboard sessions; made once per database, so that collectors sharing it agree.
    pub async fn session_secret(&self) -> Result<Vec<u8>> {
        let mut fresh = [0u8; 32];
        getrandom::fill(&mut fresh)
            .map_err(|error| anyhow::anyhow!("no randomness from the operating system: {error}"))?;
        on!(self.writer(), |pool| {
            sqlx::query(
                "INSERT INTO settings (name, value) VALUES ('session_secret', $1) ON CONFLICT (name) DO NOTHING",
            )
            .bind(&fresh[..])
            .execute(pool)
            .await
            .map(drop)
        })?;
        Ok(on!(self.writer(), |pool| {
            sqlx::query_scalar::<_, Vec<u8>>("SELECT value FROM settings WHERE name = 'session_secret'")
                .fetch_one(pool)
                .await
        })?)
    }
}

fn check_name(name: &str) -> Result<String> {
    let clean = crate::text::clean(name, 80);
    match clean {
        Some(clean) if clean == name => Ok(clean),
        _ => bail!("a project name is 1 to 80 characters without control characters or space around it"),
    }
}
