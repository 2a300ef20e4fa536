import type { Command } from 'commander';
import { type Approval, type BatonClient, BatonError, presentSubject } from '@baton/sdk';
import { visible } from '@baton/sdk/node';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { hasTerminal, promptYes } from '../confirm.ts';
import { PlainError } from '../plain-error.ts';
import { fieldLines } from '../resources/resource.command.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { changedNames, commentLines, reviewLines } from './subject-lines.ts';

type DecisionOptions = CommonOptions & { comment?: string; subjectDigest?: string; yes?: boolean };

/** How many times an approval is shown again because its subject changed while the person reviewed it. */
const reviewsMax = 10;

/** `baton approval view`, `approve` and `reject`: each shows the subject of the decision, and what has changed. */
export function addApproval(program: Command, context: CommandContext): void {
  const group =
    program.commands.find((command) => command.name() === 'approval') ?? program.command('approval');
  withCommonOptions(
    group
      .command('view <id>')
      .description('show an approval, its subject, and the changes since the request'),
    responseOf('getApproval'),
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
        'show the subject of an approval, and approve it; at a terminal it prompts first, elsewhere it fails if the subject has changed since the request',
      ),
    responseOf('approveApproval'),
  )
    .option('--comment <text>', 'your comment on the decision')
    .option(
      '--subject-digest <digest>',
      'approve exactly the version that view shows with this digest, without a prompt',
    )
    .option('--yes', 'skip the prompt, unless it has changed since the request')
    .action((id: string, options: DecisionOptions) =>
      asCaller(options, context, async (baton) =>
        done(await approve(baton, id, options, context), options, context),
      ),
    );
  withCommonOptions(
    group.command('reject <id>').description('show the subject of an approval, and reject it'),
    responseOf('rejectApproval'),
  )
    .option('--comment <text>', 'your comment on the decision')
    .action((id: string, options: DecisionOptions) =>
      asCaller(options, context, async (baton) =>
        done(await reject(baton, id, options, context), options, context),
      ),
    );
}

function done(approval: Approval, options: CommonOptions, { output }: CommandContext): Promise<void> {
  return show(output, options, approval, () => [`It is ${approval.status}.`]);
}

/** @throws PlainError if the subject has changed and nobody confirmed it */
async function approve(
  baton: BatonClient,
  id: string,
  options: DecisionOptions,
  context: CommandContext,
): Promise<Approval> {
  const { comment, subjectDigest: digest, yes = false } = options;
  const asks = digest === undefined && !yes && hasTerminal(context.output);
  const printing = { ...options, asks };
  for (let review = 1; review <= reviewsMax; review += 1) {
    const subjectDigest = digest ?? (await confirmed(baton, id, printing, context));
    try {
      return await baton.approvals.approve(id, { ...said(comment), ...(subjectDigest && { subjectDigest }) });
    } catch (error) {
      if (!(error instanceof BatonError) || error.code !== 'approval_subject_changed') throw error;
      if (asks) {
        context.output.progress('It changed while you were reviewing it. Nothing was approved.\n\n');
        continue;
      }
      const approval = await baton.approvals.get(id).catch(() => undefined);
      if (approval === undefined) throw error;
      await print(baton, approval, printing, context);
      throw changedError(approval, digest);
    }
  }
  throw new PlainError('It keeps changing. Nothing was approved.');
}

/** How the subject is printed. */
type Printing = CommonOptions & {
  /** Whether a prompt at the terminal follows. */
  readonly asks: boolean;
};

/**
 * Shows the subject of the approval, and prompts at the terminal.
 * @returns the digest of the version that was shown; undefined for a decided approval, which the service rejects
 * @throws PlainError
 */
async function confirmed(
  baton: BatonClient,
  id: string,
  printing: Printing,
  context: CommandContext,
): Promise<string | undefined> {
  const approval = await baton.approvals.get(id).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    throw new PlainError(
      'Nothing was approved: to see what this approval covers, you need the permission approvals.read. You can still reject it.',
      { cause: error },
    );
  });
  if (approval.status !== 'pending') return undefined;
  await print(baton, approval, printing, context);
  const now = presentSubject(approval);
  if (now === undefined)
    throw new PlainError(
      'Nothing was approved, because the subject is too large to be shown. Reject the approval, or have the task shortened.',
    );
  if (!printing.asks) {
    if (approval.subjectChanged) throw changedError(approval);
    return now.digest;
  }
  const question = approval.subjectChanged ? 'Approve the current version?' : 'Approve it?';
  if (!(await promptYes(question))) throw new PlainError('Nothing was approved.');
  return now.digest;
}

/** Unlike an approval, a rejection needs neither the current digest nor the permission to read the subject. */
async function reject(
  baton: BatonClient,
  id: string,
  options: DecisionOptions,
  context: CommandContext,
): Promise<Approval> {
  const approval = await baton.approvals.get(id).catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  if (approval?.status === 'pending') await print(baton, approval, { ...options, asks: false }, context);
  const subjectDigest = approval && presentSubject(approval)?.digest;
  return baton.approvals.reject(id, { ...said(options.comment), ...(subjectDigest && { subjectDigest }) });
}

const isForbidden = (error: unknown): boolean => error instanceof BatonError && error.status === 403;

const said = (comment: string | undefined) => (comment === undefined ? {} : { comment });

/** @param given the digest that the caller wanted to approve */
function changedError(approval: Approval, given?: string): PlainError {
  const digest = presentSubject(approval)?.digest;
  const reasons = [
    ...(given === undefined ? [] : ['the current version has a different digest']),
    ...(approval.subjectChanged ? [`it has changed since it was requested (${changedNames(approval)})`] : []),
  ];
  const advice =
    digest === undefined
      ? ''
      : `\nTo approve the current version, repeat the command with --subject-digest ${digest}`;
  return new PlainError(`Nothing was approved: ${visible(reasons.join('; '))}.${advice}`);
}

/**
 * Prints the subject to standard output, or to standard error if a program reads the output or a prompt follows: the
 * subject of a prompt must not end up in a file.
 */
async function print(
  baton: BatonClient,
  approval: Approval,
  { json, jq, asks }: Printing,
  { output }: CommandContext,
): Promise<void> {
  const isBeside = asks || Boolean(json) || jq !== undefined;
  const lines = [...commentLines(approval), '', ...(await reviewOf(baton, approval)), ''];
  for (const line of lines.map(visible)) {
    if (isBeside) output.progress(`${line}\n`);
    else output.line(line);
  }
}

async function reviewOf(baton: BatonClient, approval: Approval): Promise<string[]> {
  const { supersedesApprovalId: earlier, status } = approval;
  if (earlier === null || status !== 'pending') return reviewLines(approval);
  // The caller may have no access to the earlier approval.
  return reviewLines(approval, await baton.approvals.get(earlier).catch(() => undefined));
}
