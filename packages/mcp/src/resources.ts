import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { type BatonClient, BatonError } from '@baton/sdk';
import { documentFromOthers, listFromOthers } from './others-text.ts';
import { taskLine, taskText } from './tools/task-text.ts';

const listedMax = 25;
const eventsShown = 50;
const mimeType = 'text/plain';
/** Ids, task numbers and cursors. */
const reference = /^[\w.~=-]{1,512}$/;

/** The readable resources: a task, an artifact's record, and the journal's newest events or those after a cursor. */
export function addResources(
  server: McpServer,
  baton: BatonClient,
  isAllowed: (permission: string) => boolean,
): void {
  if (isAllowed('tasks.read')) addTasks(server, baton);
  if (isAllowed('artifacts.read')) addArtifacts(server, baton);
  if (isAllowed('events.read')) addJournal(server, baton);
}

function addTasks(server: McpServer, baton: BatonClient): void {
  const list = async () => {
    const { items } = await baton.tasks.list({ limit: listedMax });
    return {
      resources: items.map(({ publicId }) => ({ uri: `baton://task/${publicId}`, name: publicId, mimeType })),
    };
  };
  const template = new ResourceTemplate('baton://task/{ref}', { list });
  const metadata = { title: 'A task', description: 'By its number or id.', mimeType };
  server.registerResource('task', template, metadata, (uri, { ref }) =>
    read(uri, async () => taskText(await baton.tasks.get(referenceIn(uri, ref)))),
  );
  const metadataOfWork = {
    title: 'Available tasks',
    description: 'The most urgent first.',
    mimeType,
  };
  server.registerResource('work', 'baton://work', metadataOfWork, (uri) =>
    read(uri, async () => {
      const { items } = await baton.work.listAvailable({ limit: listedMax });
      return listFromOthers('the tasks that are available to you', items.map(taskLine)).text;
    }),
  );
}

function addArtifacts(server: McpServer, baton: BatonClient): void {
  const template = new ResourceTemplate('baton://artifact/{id}', { list: undefined });
  const metadata = { title: 'An artifact', description: 'Its record.', mimeType };
  server.registerResource('artifact', template, metadata, (uri, { id }) =>
    read(uri, async () =>
      documentFromOthers('the record of an artifact', await baton.artifacts.get(referenceIn(uri, id))),
    ),
  );
}

function addJournal(server: McpServer, baton: BatonClient): void {
  const metadata = { title: 'The newest events', description: 'Of the journal, oldest first.', mimeType };
  server.registerResource('journal', 'baton://journal', metadata, (uri) =>
    read(uri, () => eventsOf(baton, { tail: eventsShown })),
  );
  const template = new ResourceTemplate('baton://journal/{cursor}', { list: undefined });
  const metadataAfter = {
    title: 'Events after a cursor',
    description: 'Ends with the next cursor.',
    mimeType,
  };
  server.registerResource('journal-after', template, metadataAfter, (uri, { cursor }) =>
    read(uri, () => eventsOf(baton, { cursor: referenceIn(uri, cursor), limit: eventsShown })),
  );
}

/** Returns the events from a cursor on, as many as fit. The cursor of the last one is where the next read starts. */
async function eventsOf(
  baton: BatonClient,
  query: { tail: number } | { cursor: string; limit: number },
): Promise<string> {
  const { items, nextCursor } = await baton.events.list(query);
  const documents = items.map(({ id, type, entityType, entityId, actorId, occurredAt, payload }) => ({
    id,
    type,
    entity: `${entityType} ${entityId}`,
    actorId,
    occurredAt,
    payload,
  }));
  const what = 'events of the journal';
  if ('tail' in query) {
    // If not all of the newest events fit, the oldest of them are omitted.
    const { shown } = listFromOthers(what, documents.toReversed());
    const { text } = listFromOthers(what, documents.slice(documents.length - shown));
    return `Next: baton://journal/${nextCursor}\n${text}`;
  }
  const { text, shown } = listFromOthers(what, documents);
  const cursor = shown < items.length ? (items[shown - 1]?.cursor ?? nextCursor) : nextCursor;
  return `Next: baton://journal/${cursor}\n${text}`;
}

function referenceIn(uri: URL, value: string | string[] | undefined): string {
  if (typeof value === 'string' && reference.test(value)) return value;
  throw new ResourceNotFoundError(uri.href.slice(0, 200));
}

async function read(uri: URL, work: () => Promise<string>) {
  try {
    return { contents: [{ uri: uri.href, mimeType, text: await work() }] };
  } catch (error) {
    if (error instanceof BatonError && [400, 403, 404, 422].includes(error.status))
      throw new ResourceNotFoundError(uri.href.slice(0, 200));
    throw error;
  }
}
