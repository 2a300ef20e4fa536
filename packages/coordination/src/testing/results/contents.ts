import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Actor, Answer, TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';

export const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Unique bytes. */
export const freshBytes = (count = 1000) => randomBytes(count);

/** PUT /artifact-contents with these bytes. */
export async function upload(
  baton: Pick<TestCoordination, 'url'>,
  actor: Pick<Actor, 'token'>,
  bytes: Uint8Array | ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${baton.url}/api/v1/artifact-contents`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${actor.token}`,
      'content-type': 'application/octet-stream',
      ...headers,
    },
    body: bytes as Uint8Array<ArrayBuffer>,
    ...(bytes instanceof ReadableStream && { duplex: 'half' }),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** An artifact with these bytes. */
export async function storeArtifact(
  baton: TestCoordination,
  bytes: Uint8Array,
  {
    actor = baton.admin,
    mediaType = 'text/plain',
    ...more
  }: { actor?: Actor; mediaType?: string; name?: string; task?: string } = {},
) {
  const { contentRef } = await done(upload(baton, actor, bytes, { 'content-type': mediaType }), 201);
  return done(actor.post('/artifacts', { type: 'report', name: 'Findings', contentRef, ...more }), 201);
}

/** GET of an artifact's bytes. */
export async function download(
  baton: Pick<TestCoordination, 'url'>,
  actor: Pick<Actor, 'token'>,
  artifactId: string,
  query = '',
) {
  const response = await fetch(`${baton.url}/api/v1/artifacts/${artifactId}/content${query}`, {
    headers: { authorization: `Bearer ${actor.token}` },
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

/** The files in the folder of contents: objects, and partially written files. */
export async function filesOf({ env }: TestCoordination, tenantId?: string): Promise<string[]> {
  const folder = join(env['CP_ARTIFACT_FOLDER'] as string, tenantId ?? '');
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch {
    return [];
  }
}
