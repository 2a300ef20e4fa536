import { foundTenant } from '@baton/coordination/app/bootstrap/found-tenant';
import { startIssuer } from '@baton/coordination/testing/issuer';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { migrate } from '@baton/kernel/database/migrate';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { insertClaimant, migrations, tokenSeconds } from '../claim/fixture.ts';

export const levels = 9;

/** A tenant whose projects are nine levels deep, each in its own workspace. */
export interface FilledTenant {
  readonly projects: number;
  readonly tasks: number;
  readonly token: string;
  /** A project of each level, the topmost first. */
  readonly projectIds: readonly string[];
}

export interface ProjectsFixture {
  readonly small: FilledTenant;
  readonly large: FilledTenant;
  /** Coordination's settings for the database and the tokens. */
  readonly settings: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Fills an empty database with two tenants, by SQL. */
export async function makeProjectsFixture(databaseUrl: string): Promise<ProjectsFixture> {
  await migrate(databaseUrl, migrations);
  const issuer = await startIssuer();
  const pool = createPool({
    url: databaseUrl,
    connectionsMax: 1,
    applicationName: 'baton-bench',
    statementTimeoutMs: 120_000,
    lockTimeoutMs: 60_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  try {
    const fill = async (projects: number, tasks: number): Promise<FilledTenant> => {
      const name = `bench-${projects}`;
      const { tenantId, adminPrincipalId } = await foundTenant(pool, {
        tenantSlug: name,
        tenantName: name,
        adminDisplayName: name,
      });
      const permissions = ['tasks.read', 'projects.read'];
      const { iamPrincipalId } = await insertClaimant(pool, tenantId, issuer.issuer, permissions);
      const claims = { sub: iamPrincipalId, tenant_id: tenantId, scope: ['control-plane:read'] };
      const token = await issuer.sign(claims, { lifeSeconds: tokenSeconds });
      const projectIds = await insertProjects(pool, tenantId, adminPrincipalId, projects);
      await insertTasks(pool, tenantId, adminPrincipalId, tasks);
      return { projects, tasks, token, projectIds };
    };
    const [small, large] = [await fill(100, 1000), await fill(10_000, 100_000)];
    const settings = {
      CP_DATABASE_URL: databaseUrl,
      CP_IAM_ISSUER: issuer.issuer,
      CP_IAM_JWKS_URL: issuer.jwksUrl,
    };
    return { small, large, settings, close: () => issuer.close() };
  } finally {
    await pool.close();
  }
}

/** The number of projects of each level, which grows by a constant factor. */
function levelSizes(projects: number): number[] {
  const sizesFor = (factor: number) =>
    Array.from({ length: levels }, (_, level) => Math.round(factor ** level));
  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);
  let factor = 1;
  while (sum(sizesFor(factor)) < projects) factor += 0.001;
  const sizes = sizesFor(factor);
  return [...sizes.slice(0, -1), projects - sum(sizes.slice(0, -1))];
}

/** @returns a project of each level */
async function insertProjects(
  pool: Pool,
  tenantId: string,
  createdBy: string,
  projects: number,
): Promise<string[]> {
  const templateId = newId();
  await pool.run(sql`
    insert into project_templates (id, tenant_id, key, version, display_name, field_schema, lifecycle_schema,
      default_config, default_views, governance_schema, memory_defaults, created_by)
    values (${templateId}, ${tenantId}, 'bench', 1, 'Bench', '{}', '{"initialStatus":"planned","statuses":[],"transitions":[]}',
      ${JSON.stringify(documentOf('template'))}, '[]', '{}', '{}', ${createdBy})`);
  let above: string[] = [];
  for (const size of levelSizes(projects)) {
    const ids = Array.from({ length: size }, newId);
    const parents = above.length === 0 ? [null] : ids.map((_, n) => above[n % above.length]);
    await pool.run(sql`
      insert into workspaces (id, tenant_id, parent_id, path, type_id, slug, name)
      select made.id, ${tenantId}, up.id, coalesce(up.path, '{}') || made.id, t.id, 'w' || made.n, 'Workspace'
      from unnest(${ids}::uuid[], ${parents}::uuid[]) with ordinality as made (id, parent_id, n)
      left join workspaces up on up.id = made.parent_id
      join workspace_types t on t.tenant_id = ${tenantId} and t.is_system`);
    above = ids;
  }
  await pool.run(sql`
    insert into projects (id, tenant_id, workspace_id, template_id, template_key, template_version, status_key,
      system_status_category, custom_fields, settings, created_by)
    select gen_random_uuid(), tenant_id, id, ${templateId}, 'bench', 1, 'planned', 'planned', '{}', '{"colour": "blue"}',
      ${createdBy}
    from workspaces where tenant_id = ${tenantId}`);
  await pool.run(sql`
    insert into project_config_revisions (id, tenant_id, project_id, revision, config, validation, created_by, activated_at)
    select gen_random_uuid(), tenant_id, id, 1, ${JSON.stringify(documentOf('revision'))}, '{}', ${createdBy}, now()
    from projects where tenant_id = ${tenantId}`);
  await pool.run(sql`
    update projects p set active_config_revision_id = r.id, active_config_revision = 1
    from project_config_revisions r where r.project_id = p.id and p.tenant_id = ${tenantId}`);
  await pool.run(sql`
    update workspaces w set project_id = p.id from projects p where p.workspace_id = w.id and w.tenant_id = ${tenantId}`);
  const found = await pool.rows<{ id: string }>(sql`
    select distinct on (cardinality(w.path)) p.id from workspaces w join projects p on p.workspace_id = w.id
    where w.tenant_id = ${tenantId} order by cardinality(w.path), w.id`);
  return found.map(({ id }) => id);
}

/** About 400 bytes. */
function documentOf(what: string): object {
  return {
    settings: { language: 'en', [`of_${what}`]: { a: 1, b: ['x', 'y'], note: 'n'.repeat(100) } },
    governance: { maxAutonomyLevel: 'assisted', maxRunActions: 100, allowedTaskPriorities: ['high', 'low'] },
    memory: { keep: '30d' },
    inheritance: { inheritableSettings: ['*'], lockedSettings: [] },
  };
}

/** Every project has ten tasks, and they were created in a random order of the projects. */
async function insertTasks(pool: Pool, tenantId: string, createdBy: string, tasks: number): Promise<void> {
  const perInsert = 20_000;
  for (let before = 0; before < tasks; before += perInsert)
    await pool.run(sql`
      with places as (
        select id, row_number() over (order by md5(id::text)) - 1 as n, count(*) over () as workspaces
        from workspaces where tenant_id = ${tenantId}
      )
      insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin,
        created_by, created_at)
      select gen_random_uuid(), ${tenantId}, number, p.id,
        (select id from task_types where tenant_id = ${tenantId} limit 1), 'Repair ' || number, 'todo', 'active', 2,
        '{"kind":"harness","evidence":[]}', ${createdBy}, now() - number * interval '1 second'
      from generate_series(${before + 1}::integer, ${Math.min(before + perInsert, tasks)}::integer) as number
      join places p on p.n = number % p.workspaces`);
}
