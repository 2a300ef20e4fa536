import { z } from 'zod';
import { shortText, taskRef } from '../inputs.ts';
import { documentFromOthers } from '../others-text.ts';
import { lines, tool } from '../tool.ts';

const search = tool({
  name: 'knowledge_search',
  title: 'Ask memory',
  description: 'What the memory service knows of something: things, facts about them, and documents.',
  toolset: 'knowledge',
  permissions: ['events.read'],
  isReadOnly: true,
  input: z.strictObject({
    query: shortText('What to know, in words.', 2000),
    task: taskRef.optional().describe('The task for which it is asked.'),
    limit: z.int().min(1).max(50).default(10),
    budgetTokens: z.int().min(100).max(8000).default(2000).describe('How long the answer may be.'),
  }),
  async run({ query, task, limit, budgetTokens }, { baton, signal }) {
    const recalled = await baton.context.recall(
      { query, limit, budgetTokens, ...(task !== undefined && { task }) },
      { signal },
    );
    const { entities, facts, snapshots } = recalled.pack;
    if (entities.length + facts.length + snapshots.length === 0)
      return 'Memory knows nothing of that. Ask in other words, or go on without it.';
    return lines(
      recalled.warnings.length === 0 ? undefined : `${recalled.warnings.length} warnings, at the end.`,
      documentFromOthers('what memory knows', { entities, facts, snapshots, warnings: recalled.warnings }),
    );
  },
});

export const knowledgeTools = [search];
