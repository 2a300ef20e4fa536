// An agent that does its tasks by the SDK. Settings: BATON_URL, BATON_TOKEN, BATON_WORKSPACE (an id or a slug).
import { hostname } from 'node:os';
import { createClient } from '@baton/sdk';
import { findAccess } from '@baton/sdk/node';

const once = process.argv.includes('--once');
const { coordinationUrl, identityUrl, credential } = findAccess(process.env, []);
const baton = createClient({ coordinationUrl, identityUrl, credential });
const workspace = process.env.BATON_WORKSPACE;
const filter = workspace ? { workspaceId: await findId(workspace), includeDescendants: true } : {};

const harness = await baton.harness.open({ name: 'My first agent', hostname: hostname() });
try {
  for await (const lease of harness.work({ filter, once })) {
    console.log(`${lease.task.publicId}: ${lease.task.title}`);
    await lease.succeed({ summary: `Hello, ${lease.task.title}` });
    if (once) break;
  }
} finally {
  await harness.close();
}

async function findId(ref) {
  for await (const { id, slug } of baton.workspaces.list()) if (ref === id || ref === slug) return id;
  throw new Error(`there is no workspace ${ref}`);
}
