import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { emptyOutbox } from '../../testing/ledger/sinks.ts';
import {
  makeAddressee,
  smtpSettings,
  startSender,
  untilNotified,
} from '../../testing/notifications/notifications.ts';
import { startSmtpServer } from '../../testing/notifications/smtp-server.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());
beforeEach(() => emptyOutbox(baton.pool));

const backlog = 10_000;
/**
 * The maximum number of the busy tenant's e-mails that are sent before the other tenant's: one share per turn, and a
 * few more.
 */
const sentBeforeMax = 200;

test("one tenant's 10,000 notifications don't delay the decision of another", async () => {
  const busy = await makeAddressee(baton);
  const other = await makeAddressee(baton, { tenantId: baton.otherTenantId });
  const smtp = await startSmtpServer({
    message: async () => {
      await new Promise((resume) => setTimeout(resume, 5));
      return undefined;
    },
  });
  const question = { assignedPrincipalId: busy.principalId, comment: 'May I?' };
  const approval = await done(baton.admin.post('/approvals', question), 201);
  const event = { type: 'approval.requested', entity_type: 'approval', entity_id: approval.id };
  for (let n = 0; n < backlog; n += 1000)
    await writeEvents(
      baton.pool,
      baton.tenantId,
      Array.from({ length: 1000 }, () => event),
    );
  const worker = await startSender({
    ...baton.env,
    ...smtpSettings(smtp),
    CP_NOTIFICATIONS_HOURLY_MAX: '10000',
  });
  try {
    await untilNotified(() => smtp.to(busy.address).length > 10);
    const distributed = sql<{ n: number }>`select count(*) as n from outbox_deliveries where is_new`;
    await untilNotified(async () => ((await baton.pool.row(distributed))?.n ?? 0) > backlog - 2000);
    const sentBefore = smtp.to(busy.address).length;
    const mine = { assignedPrincipalId: other.principalId, comment: 'And mine?' };
    await done(baton.otherAdmin.post('/approvals', mine), 201);
    await untilNotified(() => smtp.to(other.address).length === 1, "the other tenant's e-mail");
    const overtaken = smtp.received.indexOf(smtp.to(other.address)[0] as never) - sentBefore;
    assert.ok(overtaken < sentBeforeMax, `${overtaken} e-mails of the busy tenant came first`);
    // The busy tenant's own backlog must continue to be sent.
    const soFar = smtp.to(busy.address).length;
    await untilNotified(() => smtp.to(busy.address).length > soFar + 20);
  } finally {
    await worker.close();
    await smtp.stop();
  }
});

test("one tenant's 10,000 events that notify nobody any more don't delay the decision of another", async () => {
  const busy = await makeAddressee(baton);
  const other = await makeAddressee(baton, { tenantId: baton.otherTenantId });
  const smtp = await startSmtpServer();
  const question = { assignedPrincipalId: busy.principalId, comment: 'May I?' };
  const approval = await done(baton.admin.post('/approvals', question), 201);
  await done(busy.post(`/approvals/${approval.id}:approve`));
  const event = { type: 'approval.requested', entity_type: 'approval', entity_id: approval.id };
  for (let n = 0; n < backlog; n += 1000)
    await writeEvents(
      baton.pool,
      baton.tenantId,
      Array.from({ length: 1000 }, () => event),
    );
  const remaining = async () =>
    (
      await baton.pool.row<{ n: number }>(
        sql`select count(*) as n from outbox_deliveries where tenant_id = ${baton.tenantId}`,
      )
    )?.n ?? 0;
  const worker = await startSender({ ...baton.env, ...smtpSettings(smtp) });
  try {
    await untilNotified(async () => (await remaining()) > backlog * 0.7, 'the distribution');
    const mine = { assignedPrincipalId: other.principalId, comment: 'And mine?' };
    await done(baton.otherAdmin.post('/approvals', mine), 201);
    await untilNotified(() => smtp.to(other.address).length === 1, "the other tenant's e-mail");
    const left = await remaining();
    assert.ok(left > backlog / 4, `only ${left} events of the busy tenant are left`);
    await untilNotified(async () => (await remaining()) < left - 20, 'the backlog goes on');
  } finally {
    await worker.close();
    await smtp.stop();
  }
});
