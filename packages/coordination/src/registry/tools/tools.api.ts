import { QueryWord, Uuid } from '@baton/values/wire';
import { SkillRef } from '../../organisation/skills/skill.ts';
import { endpoint } from '../context.ts';
import { ToolDetail, ToolPage } from './tool.ts';
import { getTool, listTools, termsIn } from './tools.ts';

const runId = Uuid.optional().describe(
  'A run of the caller: limits the tools to those that its projects and its handle allow.',
);

export const toolsApi = [
  endpoint({
    id: 'listTools',
    method: 'GET',
    path: '/tools',
    summary: 'List the tools that the caller has, newest first.',
    description:
      'Tools are the skills that are assigned to the caller and not disabled. `query` has up to 8 words, which ' +
      'name or description must all contain. A tool that the session cannot call has `visible` false. The ETag ' +
      'changes with the catalog and with the permitted tools; a matching If-None-Match returns 304.',
    permission: 'tasks.read',
    query: { query: QueryWord.optional(), runId },
    paging: true,
    returns: { 200: ToolPage, 304: null },
    errors: ['invalid_tool_query', 'invalid_cursor', 'not_found'],
    checkFilters: ({ query = '' }) => {
      termsIn(query);
    },
    handle: ({ query, page }, context) => listTools(context, query, page),
  }),
  endpoint({
    id: 'getTool',
    method: 'GET',
    path: '/tools/{ref}',
    summary: 'Read a tool with the schema of its inputs.',
    description:
      'A name alone selects the newest active version, or, if none is active, the newest. Properties of the schema ' +
      'that are named like a secret are omitted, and listed.',
    permission: 'tasks.read',
    params: { ref: SkillRef },
    query: { runId },
    returns: { 200: ToolDetail },
    errors: ['not_found', 'tool_not_found', 'invalid_tool_schema'],
    handle: ({ params, query }, context) => getTool(context, params.ref, query.runId),
  }),
];
