import { type BatonClient, BatonError } from '@baton/sdk';
import { type Company, knowledgeSource as source } from './company.ts';
import type { DerivedTask } from './derived-task.ts';

/** The knowledge of a source about the shop, and memory's context for the holder of the derived task. */
export interface DemoKnowledge {
  /** Baton's error code if memory didn't accept the knowledge; otherwise null. */
  readonly refusedCode: string | null;
  readonly source: string;
  /** The changes of the snapshot, read from the journal. */
  readonly opened: readonly string[];
  readonly memoryStatus: string;
  readonly told: readonly string[];
}

const textCharactersMax = 160;
const sectionsShownMax = 3;

/**
 * Attaches knowledge to the shop. A missing or unavailable memory service doesn't fail the demo.
 * @param suffix makes the names of this demo unique
 */
export async function attachKnowledge(
  operator: BatonClient,
  { shop }: Company,
  suffix: string,
  now: Date,
): Promise<Pick<DemoKnowledge, 'refusedCode' | 'source' | 'opened'>> {
  const snapshot = {
    workspaceId: shop.workspaceId,
    source,
    snapshotId: `${source}-${suffix}`,
    observedAt: now.toISOString(),
    entities: [
      { kind: 'policy', key: 'policy:invoices', text: 'Invoices are for companies only, up to 500 EUR.' },
    ],
    relations: [],
  };
  try {
    const { changes } = await operator.knowledge.reconcileSnapshot(snapshot);
    return { refusedCode: null, source, opened: changes.opened.map(({ key }) => key) };
  } catch (error) {
    if (!(error instanceof BatonError && error.code.startsWith('memory_'))) throw error;
    return { refusedCode: error.code, source, opened: [] };
  }
}

/** Queries memory for the reviewer. */
export async function queryMemory(
  operator: BatonClient,
  { id }: DerivedTask,
): Promise<Pick<DemoKnowledge, 'memoryStatus' | 'told'>> {
  const question = { query: 'What should a reviewer know?', task: id };
  const { memoryStatus, memory } = await operator.context.get(question);
  const sections = (memory?.['sections'] ?? []) as readonly { title?: unknown; text?: unknown }[];
  const told = sections.slice(0, sectionsShownMax).map(({ title, text }) => {
    const words = typeof text === 'string' ? text : JSON.stringify(text ?? '');
    return `${String(title)}: ${words.slice(0, textCharactersMax)}`;
  });
  return { memoryStatus, told };
}

export function describeKnowledge(
  { refusedCode, source: from, opened, memoryStatus, told }: DemoKnowledge,
  { publicId }: DerivedTask,
): string[] {
  if (refusedCode === 'memory_disabled')
    return [
      'Knowledge: none is attached, since this Baton has no memory service (memory_disabled).',
      '  CP_CONTEXT_PROVIDER and CP_CONTEXT_BASE_URL configure one; see docs/organisation.md.',
      '  While no Baton runs, this demo starts one with a small memory service of its own.',
    ];
  if (refusedCode !== null)
    return [`Knowledge: none is attached, the memory service did not accept it (${refusedCode}).`];
  const said = told.length === 0 ? [`  nothing (${memoryStatus})`] : told.map((line) => `  ${line}`);
  return [
    `Knowledge, attached to the web shop by a snapshot of ${from}: ${opened.join(', ')}`,
    `Memory's context for the holder of ${publicId}:`,
    ...said,
  ];
}
