import { z } from 'zod';
import type { Artifact, NewArtifact } from '@baton/sdk';
import { leaseId, shortText, taskRef } from '../inputs.ts';
import { documentFromOthers, fromOthers, othersCharactersMax } from '../others-text.ts';
import { lines, tool } from '../tool.ts';

const textCharactersMax = 200_000;
/** How many bytes of stored content are read to show a part of it. */
const readBytesMax = 4 * 1_048_576;

const put = tool({
  name: 'artifact_put',
  title: 'Publish a result',
  description:
    'Stores a result for others: text, a document, or the address of a result that is stored elsewhere.',
  toolset: 'tasks',
  permissions: ['artifacts.write'],
  input: z
    .strictObject({
      name: shortText('The name that people see, such as report.md.', 255),
      type: shortText('The kind of result, such as report or patch.', 200).default('document'),
      lease: leaseId.optional().describe('Your lease, if it is a result of the task that you hold.'),
      task: taskRef.optional().describe('The task that it belongs to, if you hold no lease.'),
      text: z.string().min(1).max(textCharactersMax).optional().describe('The text itself.'),
      mediaType: z
        .string()
        .max(100)
        .regex(/^text\/[\w.+-]+$|^application\/[\w.+-]+$/)
        .default('text/markdown')
        .describe('Of the text.'),
      uri: z
        .url({ protocol: /^https?$/ })
        .max(2000)
        .optional()
        .describe('Its http or https address, instead of a text.'),
    })
    .refine(({ text, uri }) => (text === undefined) !== (uri === undefined), 'give text or uri, one of them'),
  async run({ name, type, lease: id, task, text, mediaType, uri }, { baton, workplace, signal }) {
    const lease = id === undefined ? undefined : workplace.find(id);
    const artifact: NewArtifact = { name, type, ...(uri !== undefined && { uri }) };
    if (text !== undefined) {
      const bytes = new Blob([text], { type: `${mediaType};charset=utf-8` });
      artifact.contentRef = (await baton.artifactContents.upload(bytes, { signal })).contentRef;
    }
    const made =
      lease === undefined
        ? await baton.artifacts.create({ ...artifact, ...(task !== undefined && { task }) }, { signal })
        : await lease.putArtifact(artifact, { signal });
    return `The artifact ${made.id} is kept${lease === undefined ? '' : ` with ${lease.task.publicId}`}.`;
  },
});

const get = tool({
  name: 'artifact_get',
  title: 'Read a result',
  description: 'An artifact: its record and its text. Binary contents are only described.',
  toolset: 'tasks',
  permissions: ['artifacts.read'],
  isReadOnly: true,
  input: z.strictObject({
    artifact: z.uuid().describe('The id of the artifact.'),
    offset: z.int().min(0).max(readBytesMax).default(0).describe('The offset in the text, in characters.'),
  }),
  async run({ artifact: id, offset }, { baton, signal }) {
    const artifact = await baton.artifacts.get(id, undefined, { signal });
    const { taskId, runId, type, name, uri, content, mediaType, sizeBytes, contentState } = artifact;
    const record = { name, type, taskId, runId, uri, content, mediaType, sizeBytes, contentState };
    return lines(documentFromOthers(`the record of the artifact ${id}`, record), await shownContent());

    async function shownContent(): Promise<string | undefined> {
      if (contentState !== 'stored') return undefined;
      if (!isText(artifact)) return `Its ${sizeBytes} bytes are not text, so they are not shown.`;
      if ((sizeBytes ?? 0) > readBytesMax) return `Its ${sizeBytes} bytes are too many to be shown.`;
      const text = await (await baton.artifacts.getContent(id, undefined, { signal })).text();
      const part = text.slice(offset, offset + othersCharactersMax);
      const end = offset + part.length;
      return lines(
        end < text.length
          ? `Characters ${offset} to ${end} of ${text.length}; for more: offset ${end}`
          : undefined,
        fromOthers('its content', part),
      );
    }
  },
});

export const artifactTools = [put, get];

function isText({ mediaType }: Artifact): boolean {
  return /^text\/|^application\/(json|xml|yaml|x-yaml|x-ndjson|javascript)\b|\+(json|xml)\b/.test(
    mediaType ?? '',
  );
}
