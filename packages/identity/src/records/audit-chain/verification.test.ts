import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { linkHmac } from './chain.ts';
import { findContents, findSeal } from './seals.sql.ts';
import { addRecords, auditCommand, makeFile, makeKey, sealerOf, tamper } from './testing/records.ts';

let identity: TestIdentity;
let keys: Awaited<ReturnType<typeof makeKey>>;
before(async () => {
  [identity, keys] = await Promise.all([startIdentity(), makeKey()]);
});
after(() => identity.close());

const seal = () => sealerOf(identity.pool, keys.key).seal();

const verify = (...args: string[]) =>
  auditCommand(['verify', ...args], {
    IAM_DATABASE_URL: identity.databaseUrl,
    IAM_AUDIT_KEY_FILE: keys.file,
  });

interface Chain {
  tenantId: string;
  sequences: number[];
}

/** Three links: 256, 256 and 88 records; one number is missing before the second link, and one in the middle of it. */
async function makeChain(): Promise<Chain> {
  const tenantId = randomUUID();
  for (const records of [256, 44, 300]) {
    await addRecords(identity.pool, keys.key, tenantId, records);
    await identity.pool.row(sql`select nextval('audit_records_sequence_seq')`);
  }
  await seal();
  const rows = await identity.pool.rows<{ sequence: number }>(
    sql`select sequence from audit_records where tenant_id = ${tenantId} order by sequence`,
  );
  return { tenantId, sequences: rows.map(({ sequence }) => sequence) };
}

async function problemsAfter(statement: (chain: Chain) => Statement<unknown>): Promise<string[]> {
  const chain = await makeChain();
  assert.ok((await tamper(identity.pool, statement(chain))) > 0);
  return problemsOf(chain);
}

/** `link 2, sequences 257 to 512: …`, counted from the first record of the chain; without the times. */
async function problemsOf({ tenantId, sequences }: Chain, ...args: string[]): Promise<string[]> {
  const { code, out } = await verify('--tenant', tenantId, ...args);
  const lines = out.split('\n').filter((line) => line.startsWith('  '));
  assert.equal(code, lines.length > 0 ? 1 : 0, out);
  assert.match(out, lines.length > 0 ? /: BROKEN, [^]*BROKEN in 1 of 1 tenant/ : /: whole, /);
  const first = (sequences[0] ?? 0) - 1;
  return lines.map((line) => {
    assert.match(line, /, \d{4}-.*Z to \d{4}-.*Z: /);
    return line
      .trim()
      .replace(/\d+ to \d+/, (range) =>
        range.replaceAll(/\d+/g, (n) => String(Math.max(1, Number(n) - first))),
      )
      .replace(/, \d{4}-.*?Z to .*?Z:/, ':');
  });
}

describe('baton identity audit verify', () => {
  test('reports the length and the end of an unbroken chain', async () => {
    const { tenantId } = await makeChain();
    await addRecords(identity.pool, keys.key, tenantId, 2);
    const { code, out, err } = await verify('--tenant', tenantId.toUpperCase());
    assert.deepEqual([code, err], [0, '']);
    const [line, sum] = out.split('\n');
    assert.match(
      line ?? '',
      new RegExp(`^${tenantId}: whole, 3 links, 600 records, 2 not sealed yet, head 3 [0-9a-f]{64}$`),
    );
    assert.equal(sum, 'The audit log is whole: 1 tenant, 3 links, 600 records.');
  });

  const second = 'link 2, sequences 258 to 514';
  for (const [manipulation, statement, problems] of [
    [
      'a changed reason',
      ({ sequences }) => sql`update audit_records set reason = 'x' where sequence = ${sequences[300]}`,
      [`${second}: a record is changed`],
    ],
    [
      'a time that is changed by a millisecond',
      ({ sequences }) =>
        sql`update audit_records set occurred_at = occurred_at - interval '1 millisecond' where sequence = ${sequences[600 - 1]}`,
      ['link 3, sequences 515 to 602: a record is changed'],
    ],
    [
      'an outcome',
      ({ sequences }) => sql`update audit_records set outcome = 'denied' where sequence = ${sequences[0]}`,
      ['link 1, sequences 1 to 256: a record is changed'],
    ],
    [
      'a removed record',
      ({ sequences }) => sql`delete from audit_records where sequence = ${sequences[300]}`,
      [`${second}: 1 of its 256 records is removed`],
    ],
    [
      'the removed records of a whole link',
      ({ sequences }) =>
        sql`delete from audit_records where sequence = any (${sequences.slice(256, 512)}::bigint[])`,
      [`${second}: 256 of its 256 records are removed`],
    ],
    [
      'a record given to another tenant',
      ({ sequences }) =>
        sql`update audit_records set tenant_id = gen_random_uuid() where sequence = ${sequences[300]}`,
      [`${second}: 1 of its 256 records is removed`],
    ],
    [
      'an inserted record',
      ({ tenantId, sequences }) => sql`
        insert into audit_records (sequence, tenant_id, action, actor_ref, resource_type, resource_id, outcome, request_id)
        overriding system value
        values (${(sequences[299] ?? 0) + 1}, ${tenantId}, 'a', 'a', 'a', gen_random_uuid(), 'allowed', 'r')`,
      [`${second}: a record is added to its 256`],
    ],
    [
      'a record that is inserted between two links',
      ({ tenantId, sequences }) => sql`
        insert into audit_records (sequence, tenant_id, action, actor_ref, resource_type, resource_id, outcome, request_id)
        overriding system value
        values (${(sequences[255] ?? 0) + 1}, ${tenantId}, 'a', 'a', 'a', gen_random_uuid(), 'allowed', 'r')`,
      [`${second}: a record is added to its 256`],
    ],
    [
      'swapped records',
      ({ sequences }) => sql`
        update audit_records a set (id, action, resource_id, reason, occurred_at)
          = (select id, action, resource_id, reason, occurred_at from audit_records b
             where b.sequence = ${sequences[301]}::bigint + ${sequences[302]}::bigint - a.sequence)
        where a.sequence in (${sequences[301]}, ${sequences[302]})`,
      [`${second}: a record is changed`],
    ],
    [
      'a removed first link',
      ({ tenantId }) => sql`delete from audit_seals where tenant_id = ${tenantId} and position = 1`,
      ['link 1, sequences 1 to 257: the link is removed'],
    ],
    [
      'a removed link in the middle',
      ({ tenantId }) => sql`delete from audit_seals where tenant_id = ${tenantId} and position = 2`,
      ['link 2, sequences 257 to 514: the link is removed'],
    ],
    [
      'a changed link',
      ({ tenantId }) =>
        sql`update audit_seals set occurred_to = occurred_to + interval '1 day' where tenant_id = ${tenantId} and position = 2`,
      [`${second}: the link is changed: its seal is not that of the key`],
    ],
    [
      'a link that claims another key',
      ({ tenantId }) =>
        sql`update audit_seals set key_id = '0123456789abcdef' where tenant_id = ${tenantId} and position = 2`,
      [`${second}: the link is sealed by an unknown key 0123456789abcdef`],
    ],
  ] as [string, (chain: Chain) => Statement<unknown>, string[]][])
    test(`finds ${manipulation}, and its place`, async () => {
      assert.deepEqual(await problemsAfter(statement), problems);
    });

  test('finds records after the end of a chain that should have been sealed long ago', async () => {
    const chain = await makeChain();
    await makeChain();
    await tamper(
      identity.pool,
      sql`delete from audit_seals where tenant_id = ${chain.tenantId} and position = 3`,
    );
    assert.deepEqual(await problemsOf(chain), [
      'link 3, sequences 515 to 602: 88 records are added behind the chain, or the links of them are removed',
    ]);
  });

  test('a value that cannot be read breaks its own chain; the others are still checked', async () => {
    const [whole, ...broken] = [await makeChain(), await makeChain(), await makeChain()];
    const [inRecord, inLink] = broken.map(({ tenantId }) => tenantId);
    for (const statement of [
      sql`update audit_records set occurred_at = '-infinity' where tenant_id = ${inRecord}`,
      sql`update audit_seals set occurred_from = '0044-03-15 BC' where tenant_id = ${inLink} and position = 2`,
    ])
      assert.ok((await tamper(identity.pool, statement)) > 0);
    const { code, out, err } = await verify();
    assert.deepEqual([code, err], [1, '']);
    assert.match(out, new RegExp(`${whole?.tenantId}: whole, 3 links`));
    for (const tenantId of [inRecord, inLink])
      assert.match(out, new RegExp(`${tenantId}: BROKEN,.*\n  link 1: .* cannot be read`));
    for (const { tenantId } of broken) {
      await tamper(identity.pool, sql`delete from audit_records where tenant_id = ${tenantId}`);
      await tamper(identity.pool, sql`delete from audit_seals where tenant_id = ${tenantId}`);
    }
  });

  test('finds records with numbers that are never assigned', async () => {
    const chain = await makeChain();
    for (const sequence of [0, -7])
      await tamper(
        identity.pool,
        sql`
          insert into audit_records (sequence, tenant_id, action, actor_ref, resource_type, resource_id, outcome, request_id)
          overriding system value
          values (${sequence}, ${chain.tenantId}, 'a', 'a', 'a', gen_random_uuid(), 'allowed', 'r')`,
      );
    const { code, out } = await verify('--tenant', chain.tenantId);
    assert.equal(code, 1);
    assert.match(out, /link 4, sequences -7 to 0, .*: 2 records are added behind the chain/);
    await tamper(identity.pool, sql`delete from audit_records where sequence < 1`);
  });

  test('finds a record whose digest was recomputed without the key', async () => {
    const chain = await makeChain();
    const { tenantId, sequences } = chain;
    const [first, last] = [sequences[256] as number, sequences[511] as number];
    await tamper(
      identity.pool,
      sql`update audit_records set reason = 'x' where sequence = ${sequences[300]}`,
    );
    const range = { tenant_id: tenantId, after: first - 1, through: last, records: 256 };
    const [content] = await identity.pool.rows(findContents([range]));
    const digest = createHash('sha256')
      .update(content?.content ?? '')
      .digest('hex');
    await tamper(
      identity.pool,
      sql`update audit_seals set digest = decode(${digest}, 'hex') where tenant_id = ${tenantId} and position = 2`,
    );
    assert.deepEqual(await problemsOf(chain), [
      `${second}: the link is changed: its seal is not that of the key`,
    ]);
    // Signed with another key that has the name of the real one.
    const link = await identity.pool.row(findSeal(tenantId, 2));
    assert.ok(link !== undefined);
    const forged = linkHmac({ id: keys.key.id, secret: Buffer.from('another secret') }, link);
    await tamper(
      identity.pool,
      sql`update audit_seals set hmac = decode(${forged}, 'hex') where tenant_id = ${tenantId} and position = 2`,
    );
    assert.deepEqual(await problemsOf(chain), [
      `${second}: the link is changed: its seal is not that of the key`,
    ]);
  });

  test('a genuine link of another position or tenant is not accepted', async () => {
    const [chain, other] = [await makeChain(), await makeChain()];
    await tamper(
      identity.pool,
      sql`update audit_seals a set hmac = b.hmac, digest = b.digest from audit_seals b
        where a.tenant_id = ${chain.tenantId} and b.tenant_id = ${other.tenantId} and a.position = 2 and b.position = 2`,
    );
    assert.deepEqual(await problemsOf(chain), [
      `${second}: the link is changed: its seal is not that of the key`,
    ]);
  });

  test('finds that a link was exchanged for another genuine one', async () => {
    const chain = await makeChain();
    const { tenantId, sequences } = chain;
    await addRecords(identity.pool, keys.key, tenantId, 1);
    await seal();
    const change = (text: string) => tamper(identity.pool, { text, values: [] });
    const fourth = `from audit_seals where tenant_id = '${tenantId}' and position = 4`;
    const newest = `from audit_records where tenant_id = '${tenantId}' and sequence > ${sequences.at(-1)}`;
    await change(`create table kept_seal as select * ${fourth}`);
    await change(`create table kept_record as select * ${newest}`);
    // The third link is recreated without its last record, and the fourth is appended to it.
    await change(`delete ${newest.replace('>', '>=')}`);
    await change(`delete ${fourth.replace('= 4', '>= 3')}`);
    await seal();
    await change('insert into audit_records overriding system value select * from kept_record');
    await change('insert into audit_seals select * from kept_seal');
    assert.deepEqual(await problemsOf(chain), [
      'link 4, sequences 604 to 604: the link does not continue the one before it',
    ]);
  });

  test('a wrong key is unknown to every link, and several keys may be given', async () => {
    const { tenantId } = await makeChain();
    const newer = await makeKey();
    await addRecords(identity.pool, keys.key, tenantId, 1);
    await sealerOf(identity.pool, newer.key).seal();
    const env = { IAM_DATABASE_URL: identity.databaseUrl, IAM_AUDIT_KEY_FILE: newer.file };
    const wrong = await auditCommand(['verify', '--tenant', tenantId], env);
    assert.equal(wrong.code, 1);
    assert.equal(
      wrong.out.match(new RegExp(`the link is sealed by an unknown key ${keys.key.id}`, 'g'))?.length,
      3,
    );
    const both = await auditCommand(['verify', '--tenant', tenantId, '--key', keys.file], env);
    assert.deepEqual([both.code, / 4 links, 601 records/.test(both.out)], [0, true]);
  });

  test('finds an end that was cut off by the heads saved before, and by an anchor of the log', async () => {
    const chain = await makeChain();
    const { tenantId } = chain;
    const heads = makeFile();
    assert.equal((await verify('--tenant', tenantId, '--save-heads', heads)).code, 0);
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(heads, 'utf8'))), [tenantId]);
    const logged: string[] = [];
    await sealerOf(identity.pool, keys.key, logged).logHead();
    const { anchor } = JSON.parse(logged[0] ?? '') as { anchor: string };
    await addRecords(identity.pool, keys.key, tenantId, 1);
    await seal();
    assert.deepEqual(await problemsOf(chain, '--heads', heads, '--anchor', anchor), []);

    await tamper(identity.pool, sql`delete from audit_seals where tenant_id = ${tenantId} and position >= 3`);
    assert.deepEqual(await problemsOf(chain), []);
    const removed = ['link 3, sequences 515 to 602: the link is removed since its head was saved'];
    assert.deepEqual(await problemsOf(chain, '--heads', heads), removed);
    const anchored = await verify('--tenant', tenantId, '--anchor', anchor);
    assert.equal(anchored.code, 1);
    assert.match(anchored.out, /^anchor \d+: BROKEN/m);

    // A process that hasn't seen the end of the chain seals the records again, although they may have been changed.
    await tamper(identity.pool, sql`delete from audit_records where sequence = ${chain.sequences.at(-1)}`);
    await seal();
    assert.deepEqual(await problemsOf(chain), []);
    assert.match(
      (await problemsOf(chain, '--heads', heads)).join(),
      /the link is not the one whose head was saved$/,
    );
    assert.equal((await verify('--tenant', tenantId, '--anchor', anchor)).code, 1);
  });

  test('finds that a whole chain with saved heads is missing', async () => {
    const { tenantId } = await makeChain();
    const heads = makeFile();
    assert.equal((await verify('--tenant', tenantId, '--save-heads', heads)).code, 0);
    await tamper(identity.pool, sql`delete from audit_seals where tenant_id = ${tenantId}`);
    await tamper(identity.pool, sql`delete from audit_records where tenant_id = ${tenantId}`);
    const { code, out } = await verify('--heads', heads);
    assert.equal(code, 1);
    assert.match(
      out,
      new RegExp(`^${tenantId}: BROKEN, 0 links, 0 records\n  link 3, .* is removed since`, 'm'),
    );
  });

  test('exits with 2 and one sentence when it cannot check', async () => {
    const env = { IAM_DATABASE_URL: identity.databaseUrl, IAM_AUDIT_KEY_FILE: keys.file };
    for (const [args, sentence, given = env] of [
      [[], /^There is one command: verify\.\nUsage: /],
      [['seal'], /^There is one command: verify\.\nUsage: /],
      [['verify', '--unknown'], /--unknown[^]*Usage: /],
      [['verify', '--tenant', 'x'], /^--tenant needs the id of a tenant/],
      [['verify', '--anchor', '12'], /^--anchor needs a number/],
      [['verify', '--heads', keys.file], /^The file of --heads is not valid JSON\.$/],
      [['verify', '--heads', makeFile('{"x": 1}')], /^The file of --heads was not written by/],
      [['verify', '--key', '/nowhere/key'], /^The file of the audit key .* cannot be read\.$/],
      [['verify', '--key', makeFile('short')], /^The audit key .* has fewer than 32 characters/],
      [['verify'], /^IAM_PORT /, { ...env, IAM_PORT: 'none' }],
      [['verify'], /^No key is given: /, { ...env, IAM_AUDIT_KEY_FILE: undefined }],
      [
        ['verify'],
        /^The database of identity \(IAM_DATABASE_URL\) cannot be reached/,
        { ...env, IAM_DATABASE_URL: 'postgresql://x@127.0.0.1:1/x' },
      ],
    ] as [string[], RegExp, Record<string, string | undefined>?][]) {
      const { code, out, err } = await auditCommand(args, given);
      assert.deepEqual([code, out], [2, ''], args.join(' '));
      assert.match(err, sentence);
    }
  });
});
