import type { Command } from 'commander';
import { type Approval, type BatonClient, BatonError, presentSubject } from '@baton/sdk';
import { visible } from '@baton/sdk/node';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { fieldLines } from '../resources/resource.command.ts';
import { show } from '../show.ts';
import { changedNames, reviewLines } from './subject-lines.ts';

type DecisionOptions = CommonOptions & { comment?: string; subjectDigest?: string; yes?: boolean };

/** How often an approval is shown again because its subject changed while it was confirmed. */
const reviewsMax = 10;

/** `baton approval view`, `approve` and `reject`: each shows what the decision is about, and what has changed. */
export function addApproval(program: Command, context: CommandContext): void {
  const group =
    program.commands.find((command) => command.name() === 'approval') ?? program.command('approval');
  withCommonOptions(
    group
      .command('view <id>')
      .alias('show')
      .description('show one by its id, with what it is about and what has changed since it was requested'),
  ).action((id: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const approval = await baton.approvals.get(id);
      const { subject: _subject, requestedSubject: _requested, current: _current, ...fields } = approval;
      const review = await reviewOf(baton, approval);
      await show(context.output, options, approval, () => [...fieldLines(fields), '', ...review]);
    }),
  );
  withCommonOptions(
    group
      .command('approve <id>')
      .description(
        'approve it after showing what it is about; asks at a terminal, and elsewhere refuses what has changed',
      ),
  )
    .option('--comment <text>', 'what you say to it')
    .option(
      '--subject-digest <digest>',
      'approve exactly what this digest names, as view shows it, without asking',
    )
    .option('--yes', 'approve without asking, unless it has changed since it was requested')
    .action((id: string, options: DecisionOptions) =>
      asCaller(options, context, async (baton) =>
        done(await approve(baton, id, options, context), options, context),
      ),
    );
  withCommonOptions(group.command('reject <id>').description('reject it after showing what it is about'))
    .option('--comment <text>', 'what you say to it')
    .action((id: string, options: DecisionOptions) =>
      asCaller(options, context, async (baton) =>
        done(await reject(baton, id, options, context), options, context),
      ),
    );
}

function done(approval: Approval, options: CommonOptions, { output }: CommandContext): Promise<void> {
  return show(output, options, approval, () => [`It is ${approval.status}.`]);
}

/** @throws PlainError where what would be approved has changed and nobody confirmed it */
async function approve(
  baton: BatonClient,
  id: string,
  options: DecisionOptions,
  context: CommandContext,
): Promise<Approval> {
  const { comment, subjectDigest: digest, yes = false } = options;
  const isInteractive = process.stdin.isTTY === true && context.output.isTerminal && !yes;
  for (let review = 1; review <= reviewsMax; review += 1) {
    const subjectDigest = digest ?? (await confirmed(baton, id, options, { context, isInteractive }));
    try {
      return await baton.approvals.approve(id, { ...said(comment), ...(subjectDigest && { subjectDigest }) });
    } catch (error) {
      if (!(error instanceof BatonError) || error.code !== 'approval_subject_changed') throw error;
      if (isInteractive && digest === undefined) {
        context.output.progress('It changed while you looked at it, and nothing was approved.\n');
        continue;
      }
      const approval = await baton.approvals.get(id);
      await print(baton, approval, options, context);
      throw changedError(approval);
    }
  }
  throw new PlainError('It keeps changing, and nothing was approved.');
}

/**
 * Shows what would be approved, and asks where somebody is there.
 * @returns the digest of what was shown; undefined for an approval that isn't pending, which the service refuses
 * @throws PlainError
 */
async function confirmed(
  baton: BatonClient,
  id: string,
  options: DecisionOptions,
  { context, isInteractive }: { readonly context: CommandContext; readonly isInteractive: boolean },
): Promise<string | undefined> {
  const approval = await baton.approvals.get(id);
  if (approval.status !== 'pending') return undefined;
  await print(baton, approval, options, context);
  const now = presentSubject(approval);
  if (now === undefined) throw new PlainError('Nothing was approved: reject it, or have the task shortened.');
  if (isInteractive)
    await confirm(
      approval.subjectChanged ? 'Approve it as it is now?' : 'Approve it?',
      false,
      context.output,
    );
  else if (approval.subjectChanged) throw changedError(approval);
  return now.digest;
}

/** A rejection is never refused because of a change, nor because its subject may not be read. */
async function reject(
  baton: BatonClient,
  id: string,
  options: DecisionOptions,
  context: CommandContext,
): Promise<Approval> {
  const approval = await baton.approvals.get(id).catch((error: unknown) => {
    if (error instanceof BatonError && error.status === 403) return undefined;
    throw error;
  });
  if (approval?.status === 'pending') await print(baton, approval, options, context);
  const subjectDigest = approval && presentSubject(approval)?.digest;
  return baton.approvals.reject(id, { ...said(options.comment), ...(subjectDigest && { subjectDigest }) });
}

const said = (comment: string | undefined) => (comment === undefined ? {} : { comment });

function changedError(approval: Approval): PlainError {
  const digest = presentSubject(approval)?.digest;
  const again =
    digest === undefined
      ? ''
      : `\nTo approve it as it is now, repeat the command with --subject-digest ${digest}`;
  return new PlainError(
    `Nothing was approved: it has changed since it was requested (${visible(changedNames(approval))}).${again}`,
    { exitCode: exitCodes.failed },
  );
}

/** Prints what is decided; beside the output where a program reads that. */
async function print(
  baton: BatonClient,
  approval: Approval,
  { json, jq }: CommonOptions,
  { output }: CommandContext,
): Promise<void> {
  const isForProgram = Boolean(json) || jq !== undefined;
  const lines = [`comment  ${approval.comment}`, '', ...(await reviewOf(baton, approval)), ''];
  for (const line of lines.map(visible)) {
    if (isForProgram) output.progress(`${line}\n`);
    else output.line(line);
  }
}

async function reviewOf(baton: BatonClient, approval: Approval): Promise<string[]> {
  const { supersedesApprovalId: earlier, status } = approval;
  // It may be hidden from this person, or forgotten.
  const superseded =
    earlier === null || status !== 'pending'
      ? undefined
      : await baton.approvals.get(earlier).catch(() => undefined);
  return reviewLines(approval, superseded);
}
