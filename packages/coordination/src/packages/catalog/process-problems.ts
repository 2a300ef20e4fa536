import { inSlices } from '@baton/kernel/limits/slices';
import { checkDefinition } from '@baton/process-engine/language/checks';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { type ProcessProblem, problem } from '@baton/process-engine/language/problems';
import {
  findExportedOutputs,
  findReferenceProblems,
  type GivenNames,
} from '../../processes/definitions/references.ts';
import { findKnownAgents } from '../../registry/agent-identity/acting-agents.ts';
import type { Context } from '../context.ts';

interface JudgedProcess {
  readonly problems: readonly ProcessProblem[];
  /** The keys of the calendars that the definition uses. */
  readonly calendars: readonly string[];
}

/**
 * The problems of a process in a package (docs/reference/processes.md#problems), except those of its form and
 * migrations.
 * @param before the kinds of the elements of the existing version
 * @param given the objects that the package itself creates
 */
export async function validateProcess(
  context: Context,
  spec: ProcessSpec,
  before: ReadonlyMap<string, string>,
  given: GivenNames,
): Promise<JudgedProcess> {
  const checked = await inSlices(checkDefinition(spec, before, await findExportedOutputs(context, spec)));
  const references = await findReferenceProblems(context, spec, checked.calendars, given);
  const ofAgent = await problemsOfAgent(context, spec, given);
  const problems = [...ofAgent, ...checked.problems, ...references.problems];
  return { problems, calendars: references.calendars };
}

async function problemsOfAgent(
  context: Context,
  { identity }: ProcessSpec,
  given: GivenNames,
): Promise<ProcessProblem[]> {
  if (identity === undefined)
    return [problem('unknown_agent', '/identity', 'must specify the agent that the process acts as')];
  const { agent } = identity;
  if (given.agents.has(agent) || (await findKnownAgents(context, [agent])).has(agent)) return [];
  return [problem('unknown_agent', '/identity/agent', `no agent has the key ${agent}`)];
}
