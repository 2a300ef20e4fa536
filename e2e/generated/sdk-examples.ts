// GENERATED from the doc comments of packages/sdk by: npm run generate

import { createClient, etagOf, fetchTransport, findWorkloadCredential, newIdempotencyKey, presentSubject, revealHidden, subjectChanges, type Transport } from '@baton/sdk';
import { certificateCodeOf, fileStore, findAccess, findConnection, parseConnection, visible } from '@baton/sdk/node';
import type { ExampleWorld } from '../testing/sdk-example-world.ts';

/** The examples of the doc comments, by place. */
export const sdkExamples: Readonly<Record<string, (world: ExampleWorld) => Promise<void>>> = {
  'approval-subject.ts: presentSubject': async ({ baton, task, personId }) => {
    const { id } = await baton.approvals.request({ task: task.id, assignedPrincipalId: personId, comment: 'May I?' });
    const subject = presentSubject(await baton.approvals.get(id));
    console.log(subject?.snapshot.task?.title, subject?.digest);
  },
  'approval-subject.ts: subjectChanges': async ({ baton, task, personId }) => {
    const { id } = await baton.approvals.request({ task: task.id, assignedPrincipalId: personId, comment: 'May I?' });
    const approval = await baton.approvals.get(id);
    if (approval.subject && approval.current)
      for (const { path, before, after } of subjectChanges(approval.subject, approval.current))
        console.log(path.join('.'), before, after);
  },
  'baton.ts: BatonClient.open': async ({ baton }) => {
    await using harness = await baton.harness.open({ name: 'my agent' });
    for await (const lease of harness.work({ once: true })) await lease.succeed();
  },
  'baton.ts: BatonClient.startRun': async ({ baton, task }) => {
    const session = await baton.sessions.open({ clientName: 'by hand' });
    const { id: claimId, fencingToken } = await baton.tasks.claim(task.id, { sessionId: session.id });
    const run = await baton.harness.startRun(task.id, { claimId, fencingToken });
    await baton.runs.succeed(run.id, {});
  },
  'baton.ts: BatonClient.follow': async ({ baton }) => {
    for await (const event of baton.events.follow({ cursor: '0', types: ['task.'] })) {
      console.log(event.occurredAt, event.type, event.entityId);
      break;
    }
  },
  'baton.ts: createClient': async ({ url, token }) => {
    const baton = createClient({ url, credential: { token } });
    const task = await baton.tasks.create({ title: 'Fix the flaky test' });
    console.log(`${task.publicId} is ${task.status}`);
  },
  'certificate-failure.ts: certificateCodeOf': async ({ baton }) => {
    await baton.tasks.list({ limit: 1 }).catch((error: unknown) => console.log(certificateCodeOf(error)));
  },
  'client.ts: Api.request': async ({ baton }) => {
    const made = await baton.request('POST', '/api/v1/tasks', { body: { title: 'Fix it' } });
    console.log(made);
  },
  'credentials.ts: AccessToken.held': async ({ baton }) => {
    console.log(baton.accessToken?.held() === undefined ? 'the next call exchanges' : 'the next call uses this one');
  },
  'credentials.ts: AccessToken.get': async ({ baton }) => {
    const headers = { authorization: `Bearer ${await baton.accessToken?.get()}` };
    console.log((await fetch(`${baton.coordinationUrl}/api/v1/tasks`, { headers })).status);
  },
  'credentials.ts: AccessToken.forget': async ({ baton }) => {
    const refused = (await baton.accessToken?.get()) ?? '';
    baton.accessToken?.forget(refused);
  },
  'etag.ts: etagOf': async ({ baton, task }) => {
    const read = await baton.tasks.get(task.id);
    await baton.tasks.update(task.id, { title: 'A better title' }, { ifMatch: etagOf(read) });
  },
  'harness/harness.ts: Harness.setLeaseSeconds': async ({ harness }) => {
    harness.setLeaseSeconds(600);
  },
  'harness/harness.ts: Harness.work': async ({ harness }) => {
    for await (const lease of harness.work({ once: true })) {
      await lease.checkpoint('started', { title: lease.task.title });
      await lease.succeed({ answer: 42 });
    }
  },
  'harness/harness.ts: Harness.workParallel': async ({ harness }) => {
    await harness.workParallel(4, { once: true }, async (lease) => {
      await lease.succeed();
    });
  },
  'harness/harness.ts: Harness.close': async ({ baton }) => {
    const own = await baton.harness.open({ name: 'short' });
    await own.close();
  },
  'harness/lease.ts: Lease.isLive': async ({ lease }) => {
    if (!lease.isLive()) throw lease.signal.reason;
  },
  'harness/lease.ts: Lease.leftMs': async ({ lease }) => {
    console.log(`the work must stop within ${lease.leftMs()} ms, unless the lease is extended`);
  },
  'harness/lease.ts: Lease.setLeaseSeconds': async ({ lease }) => {
    lease.setLeaseSeconds(600);
  },
  'harness/lease.ts: Lease.context': async ({ lease }) => {
    const { checkpoints } = await lease.context();
    const done = checkpoints.filter(({ kind }) => kind === 'step').length;
    console.log(`${done} steps were done before`);
  },
  'harness/lease.ts: Lease.checkpoint': async ({ lease }) => {
    await lease.checkpoint('step', { file: 'a.ts', line: 12 });
  },
  'harness/lease.ts: Lease.update': async ({ baton, lease }) => {
    const read = await baton.tasks.get(lease.task.id);
    await lease.update({ description: 'What I found so far' }, { ifMatch: etagOf(read) });
  },
  'harness/lease.ts: Lease.comment': async ({ lease }) => {
    await lease.comment({ body: 'The test fails on Mondays only.' });
  },
  'harness/lease.ts: Lease.putArtifact': async ({ lease }) => {
    await lease.putArtifact({ type: 'report', name: 'findings', content: { failures: 3 } });
  },
  'harness/lease.ts: Lease.succeed': async ({ lease }) => {
    const done = await lease.succeed({ commits: 2 });
    console.log(done.systemStatusCategory);
  },
  'harness/lease.ts: Lease.fail': async ({ lease }) => {
    await lease.fail('rate_limited: the model answered 429', undefined, { retryAfterSeconds: 120 });
  },
  'harness/lease.ts: Lease.cancel': async ({ lease }) => {
    await lease.cancel('the requester changed her mind');
  },
  'harness/lease.ts: Lease.askApproval': async ({ lease, personId }) => {
    const approval = await lease.askApproval({ comment: 'May I deploy?', assignedPrincipalId: personId });
    console.log(approval.status, lease.end);
  },
  'harness/lease.ts: Lease.suspend': async ({ lease }) => {
    await lease.suspend('the build machine is down');
  },
  'harness/lease.ts: Lease.release': async ({ lease }) => {
    await lease.release('this machine is needed for something else');
  },
  'harness/lease.ts: Lease.write': async ({ baton, lease }) => {
    await lease.write(({ signal }) => baton.runs.createAction(lease.run.id, { action: 'deploy' }, { signal }));
  },
  'harness/lease.ts: Lease.lose': async ({ lease }) => {
    lease.lose('the power is out');
    console.log(lease.signal.aborted, lease.end);
  },
  'hidden-characters.ts: revealHidden': async () => {
    console.log(revealHidden('ACME\u202Edtl')); // ACME⟨U+202E⟩dtl
  },
  'idempotency-key.ts: newIdempotencyKey': async ({ baton }) => {
    const idempotencyKey = newIdempotencyKey();
    const first = await baton.tasks.create({ title: 'Once' }, { idempotencyKey });
    const again = await baton.tasks.create({ title: 'Once' }, { idempotencyKey });
    console.log(first.id === again.id);
  },
  'node/access.ts: findAccess': async ({ folder }) => {
    const { coordinationUrl, identityUrl, credential } = findAccess({ BATON_HOME: `${folder}/.baton` }, []);
    const own = createClient({ coordinationUrl, identityUrl, credential });
    console.log((await own.harness.getContext()).principal.displayName);
  },
  'node/connection.ts: findConnection': async ({ folder }) => {
    console.log(findConnection({ folders: [folder] })?.coordinationUrl);
  },
  'node/connection.ts: parseConnection': async ({ folder }) => {
    const text = JSON.stringify(findConnection({ folders: [folder] }));
    console.log(parseConnection(text, 'connection.json').tenantId);
  },
  'node/file-store.ts: fileStore': async ({ baton, folder }) => {
    const store = fileStore(`${folder}/cursor`);
    for await (const event of baton.events.follow({ cursor: '0', store })) {
      console.log(event.type);
      break;
    }
  },
  'node/visible.ts: visible': async ({ baton }) => {
    const [first] = (await baton.tasks.list({ limit: 1 })).items;
    console.log(visible(`${first?.publicId}: ${first?.title}`));
  },
  'transport.ts: fetchTransport': async ({ url, token }) => {
    const transport: Transport = (request) => {
      console.log(request.method, request.url);
      return fetchTransport(request);
    };
    await createClient({ url, credential: { token }, transport }).tasks.list({ limit: 1 });
  },
  'workload-identity.ts: findWorkloadCredential': async ({ url }) => {
    const found = findWorkloadCredential({ BATON_IDENTITY_TOKEN_FILE: '/var/run/secrets/tokens/job' }, url);
    console.log(found === undefined ? 'no token' : 'this program has an identity');
  },
};
