import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Db, Pool } from '@baton/kernel/database/db';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { readIdentitySettings } from '../../../app/settings.ts';
import type { AuditAction } from '../../drafts.ts';
import { runAuditCommand } from '../audit-command.ts';
import { type AuditKey, readAuditKey } from '../audit-key.ts';
import { HeadKeeper } from '../head-file.ts';
import { recordMac } from '../record-mac.ts';
import { Sealer } from '../sealer.ts';

/** For tests of the chain: keys in files, many records, and changes that bypass the triggers of the database. */

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
  const key = await readAuditKey(file);
  return { file, key };
}

/** A sealer that runs only when the test calls it; its log is in `logged`. */
export function sealerOf(pool: Pool, key: AuditKey, logged: string[] = []): Sealer {
  const destination = { write: (line: string) => logged.push(line) };
  const log = createLog({ name: 'identity', level: 'info', destination });
  return new Sealer(pool, key, new HeadKeeper(undefined, undefined, log), log);
}

/**
 * Adds records of a tenant in the way that a process with this key writes them, with strings that are hard to escape.
 */
export async function addRecords(
  db: Db,
  key: AuditKey,
  tenantId: string,
  records: number,
  daysAgo = 0,
): Promise<void> {
  const ms = Date.now() - daysAgo * 86_400_000;
  const time = new Date(ms).toISOString();
  const rows = Array.from({ length: records }, (_, index) => {
    const n = index + 1;
    const record = {
      id: randomUUID(),
      tenant_id: tenantId,
      action: `act.${n % 7}` as AuditAction,
      actor_ref: 'actor',
      resource_type: 'thing',
      resource_id: randomUUID(),
      outcome: 'allowed' as const,
      reason: `n:${n} "quoted" \\ \t\n é 漢 😀 \u0001\u007f`,
      request_id: 'req',
    };
    return { ...record, n, mac: recordMac(key, record, ms) };
  });
  await db.run(sql`
    insert into audit_records (
      id, tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id, written_at, mac,
      occurred_at)
    select id, tenant_id, action, actor_ref, resource_type, resource_id, outcome, reason, request_id, ${time},
      decode(mac, 'hex'), ${time}
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as d (
      n integer, id uuid, tenant_id uuid, action text, actor_ref text, resource_type text, resource_id uuid,
      outcome text, reason text, request_id text, mac text)
    order by n`);
}

/** Runs a statement that bypasses every trigger, as the owner of the database can. */
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
