import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from '@baton/kernel/db';
import { createLog } from '@baton/kernel/log';
import { type Statement, sql } from '@baton/kernel/sql';
import { keepSecret } from '@baton/kernel/testing/leaks';
import { readIdentitySettings } from '../../../app/settings.ts';
import { runAuditCommand } from '../audit-command.ts';
import { type AuditKey, readAuditKey } from '../audit-key.ts';
import { Sealer } from '../sealer.ts';

/** For tests of the chain: keys in files, many records, and changes past the triggers of the database. */

const folder = mkdtempSync(join(tmpdir(), 'baton-audit-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

export function makeFile(text = ''): string {
  const file = join(folder, randomUUID());
  writeFileSync(file, text);
  return file;
}

export async function makeKey(): Promise<{ file: string; key: AuditKey }> {
  const secret = randomBytes(32).toString('base64url');
  keepSecret('audit key', secret);
  const file = makeFile(`${secret}\n`);
  return { file, key: await readAuditKey(file) };
}

/** A sealer that runs only when the test calls it; its log is in `logged`. */
export function sealerOf(pool: Pool, key: AuditKey, logged: string[] = []): Sealer {
  const destination = { write: (line: string) => logged.push(line) };
  return new Sealer(pool, key, createLog({ name: 'identity', level: 'info', destination }));
}

/** Adds records of a tenant, with texts that are hard to escape. */
export async function addRecords(pool: Pool, tenantId: string, records: number, daysAgo = 0): Promise<void> {
  await pool.run(sql`
    insert into audit_records (tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id, occurred_at)
    select ${tenantId}, 'act.' || n % 7, 'actor', 'thing', gen_random_uuid(), 'allowed',
      e'n:' || n || e' "quoted" \\ \t\n é 漢 😀 ' || chr(1) || chr(127), 'req', now() - ${daysAgo} * interval '1 day'
    from generate_series(1, ${records}::integer) n order by n`);
}

/** Runs a statement past every trigger, as the owner of the database can. */
export async function tamper(pool: Pool, statement: Statement<unknown>): Promise<number> {
  return pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    return tx.run(statement);
  });
}

/** `baton identity audit …` in this process. */
export async function auditCommand(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ code: number; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runAuditCommand(args, () => readIdentitySettings(env), {
    say: (line) => out.push(line),
    complain: (line) => err.push(line),
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}
