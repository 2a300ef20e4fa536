import { z } from 'zod';
import { shortText, taskRef } from '../inputs.ts';
import { documentFromOthers } from '../others-text.ts';
import { lines, tool } from '../tool.ts';

const search = tool({
  name: 'knowledge_search',
  title: 'Query memory',
  description: 'Searches the memory service for entities, facts about them, and documents.',
  toolset: 'knowledge',
  permissions: ['events.read'],
  isReadOnly: true,
  input: z.strictObject({
    query: shortText('The question, in natural language.', 2000),
    task: taskRef.optional().describe('The task that needs the knowledge.'),
    limit: z.int().min(1).max(50).default(10),
    budgetTokens: z.int().min(100).max(8000).default(2000).describe('The maximum length of the result.'),
  }),
  async run({ query, task, limit, budgetTokens }, { baton, signal }) {
    const recalled = await baton.context.recall(
      { query, limit, budgetTokens, ...(task !== undefined && { task }) },
      { signal },
    );
    const { entities, facts, snapshots } = recalled.pack;
    if (entities.length + facts.length + snapshots.length === 0)
      return 'Memory has no result for this query. Use other words, or continue without it.';
    return lines(
      recalled.warnings.length === 0 ? undefined : `${recalled.warnings.length} warnings, at the end.`,
      documentFromOthers('what memory knows', { entities, facts, snapshots, warnings: recalled.warnings }),
    );
  },
});

export const knowledgeTools = [search];
