import { type BatonClient, BatonError } from '@baton/sdk';
import { type Company, knowledgeSource as source } from './company.ts';
import type { DerivedTask } from './what-followed.ts';

/** What a source told the memory service of the shop, and what memory says of it to who takes the derived task. */
export interface DemoKnowledge {
  /** Why nothing is known: the code of Baton; null where memory took it. */
  readonly refusedCode: string | null;
  readonly source: string;
  /** What the journal says that the snapshot changed. */
  readonly opened: readonly string[];
  readonly memoryStatus: string;
  readonly told: readonly string[];
}

const textCharactersMax = 160;
const sectionsShownMax = 3;

/**
 * Attaches knowledge to the shop. A Baton without a memory service, or with one that is away, is no failure of the demo.
 * @param suffix makes the names of this demo new
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

/** What memory says to who is about to review. */
export async function askMemory(
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

export function knowledgeLines(
  { refusedCode, source: from, opened, memoryStatus, told }: DemoKnowledge,
  { publicId }: DerivedTask,
): string[] {
  if (refusedCode === 'memory_disabled')
    return [
      'Knowledge: none is attached, since this Baton has no memory service (memory_disabled).',
      '  CP_CONTEXT_PROVIDER and CP_CONTEXT_BASE_URL name one; docs/organisation.md says what is then told.',
      '  While no Baton runs, this demo starts one with a small memory service of its own.',
    ];
  if (refusedCode !== null)
    return [`Knowledge: none is attached, the memory service did not take it (${refusedCode}).`];
  const said = told.length === 0 ? [`  nothing (${memoryStatus})`] : told.map((line) => `  ${line}`);
  return [
    `Knowledge, attached to the web shop by a snapshot of ${from}: ${opened.join(', ')}`,
    `What memory says to who takes ${publicId}:`,
    ...said,
  ];
}
