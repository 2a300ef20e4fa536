/**
 * A small model of tasks, claims, runs, approvals and child handles; the rules are in docs/reference/. Commands are
 * sequential and time is not modelled: a lease expires in a separate step. Each operation returns the response that the
 * service must return, and changes the model only if that is `ok`.
 */

/** The expected journal of one object, in order. */
interface Journaled {
  id: string;
  events: string[];
}

export interface TaskModel extends Journaled {
  status: 'todo' | 'in_progress' | 'done' | 'cancelled';
  epoch: number;
  attempts: number;
  titleChanges: number;
  active: ClaimModel | undefined;
  /** Consecutive failed attempts. */
  failures: number;
  /** Whether the task is paused after a failure; the pause is longer than the history. */
  isPaused: boolean;
  /** The handle that launched the task. */
  handle: HandleModel | undefined;
}

export interface ClaimModel extends Journaled {
  task: TaskModel;
  holder: number;
  token: number;
  status: 'active' | 'released' | 'stale';
  isOver: boolean;
}

export interface RunModel extends Journaled {
  claim: ClaimModel;
  attempt: number;
  status: 'running' | 'succeeded' | 'failed' | 'cancelled' | 'suspended';
}

export interface ApprovalModel extends Journaled {
  task: TaskModel;
  /** The number of title changes before the request. */
  titleChanges: number;
  /** The approval of an earlier title that this request renews. */
  renews: ApprovalModel | undefined;
  status: 'pending' | 'approved' | 'rejected' | 'cancelled';
}

export interface HandleModel extends Journaled {
  parent: RunModel;
  /** The run that produced the task's result. */
  run: RunModel | undefined;
  isRevoked: boolean;
  depth: number;
}

export interface Verdict<Made = undefined> {
  code: string;
  made?: Made;
}

const ok = { code: 'ok' };
const depthMax = 8;

export class Model {
  readonly tasks: TaskModel[] = [];
  readonly claims: ClaimModel[] = [];
  readonly runs: RunModel[] = [];
  readonly approvals: ApprovalModel[] = [];
  readonly handles: HandleModel[] = [];

  addTask(id: string, handle?: HandleModel): TaskModel {
    const task: TaskModel = {
      id,
      events: ['task.created', ...(handle === undefined ? [] : ['task.relation_added'])],
      status: 'todo',
      epoch: 0,
      attempts: 0,
      titleChanges: 0,
      active: undefined,
      failures: 0,
      isPaused: false,
      handle,
    };
    this.tasks.push(task);
    return task;
  }

  claim(task: TaskModel, holder: number): Verdict<ClaimModel> {
    const refusal = this.#obstacle(task);
    if (refusal !== undefined) return { code: refusal };
    if (task.active !== undefined) this.#expire(task.active, { moves: false });
    task.epoch += 1;
    if (task.status === 'todo') task.status = 'in_progress';
    task.events.push('task.claimed');
    const made: ClaimModel = {
      id: '',
      events: [],
      task,
      holder,
      token: task.epoch,
      status: 'active',
      isOver: false,
    };
    task.active = made;
    this.claims.push(made);
    return { code: 'ok', made };
  }

  reclaim(claim: ClaimModel, holder: number): Verdict<ClaimModel> {
    return isLive(claim) ? { code: 'claim_not_expired' } : this.claim(claim.task, holder);
  }

  heartbeat(claim: ClaimModel, by: number): Verdict {
    if (claim.holder !== by) return { code: 'claim_holder_mismatch' };
    if (claim.status !== 'active') return { code: 'claim_not_active' };
    return claim.isOver ? { code: 'claim_expired' } : ok;
  }

  release(claim: ClaimModel, by: number): Verdict {
    if (claim.holder !== by) return { code: 'claim_holder_mismatch' };
    if (claim.status === 'active') this.#release(claim, { moves: true });
    return ok;
  }

  /** The lease of the claim expires; no other effects have occurred yet. */
  endLease(task: TaskModel): void {
    if (task.active !== undefined) task.active.isOver = true;
  }

  sweep(): void {
    for (const { active } of this.tasks) if (active?.isOver) this.#expire(active, { moves: true });
  }

  closeSession(holder: number): void {
    for (const { active } of this.tasks)
      if (active?.holder === holder) this.#release(active, { moves: true });
  }

  /**
   * A change of the title, by a worker that could not decide the gate, requests the newest approved gate again, unless
   * a renewal is already pending.
   */
  changeTitle(task: TaskModel, presented: ClaimModel | undefined, by: number): Verdict<ApprovalModel> {
    const code = gate(task, presented, by);
    if (code !== 'ok') return { code };
    task.events.push('task.updated');
    task.titleChanges += 1;
    const ofTask = this.approvals.filter((one) => one.task === task);
    const newest = ofTask.findLast(({ status }) => status === 'approved');
    const isAskedAgain = ofTask.some(({ status, renews }) => status === 'pending' && renews === newest);
    if (isTerminal(task) || newest === undefined || isAskedAgain) return ok;
    return { code, made: this.#ask(task, newest) };
  }

  cancelTask(task: TaskModel, presented: ClaimModel | undefined, by: number): Verdict {
    const code = gate(task, presented, by);
    if (code !== 'ok') return { code };
    if (isTerminal(task)) return { code: 'invalid_transition' };
    this.#failRunning(task);
    if (task.active !== undefined && isLive(task.active)) this.#release(task.active, { moves: false });
    task.status = 'cancelled';
    forgetFailures(task);
    task.events.push('task.updated');
    return ok;
  }

  complete(task: TaskModel, presented: ClaimModel | undefined, by: number): Verdict {
    const refusal = this.#incompletable(task);
    if (refusal !== undefined) return { code: refusal };
    const code = gate(task, presented, by);
    if (code !== 'ok') return { code };
    if (presented !== undefined && this.#runningOf(task)?.claim === presented)
      return { code: 'run_in_progress' };
    this.#failRunning(task);
    this.#complete(task, presented);
    return ok;
  }

  startRun(claim: ClaimModel, by: number): Verdict<RunModel> {
    const { task } = claim;
    if (isTerminal(task)) return { code: 'task_not_runnable' };
    const code = gate(task, claim, by);
    if (code !== 'ok') return { code };
    const running = this.#runningOf(task);
    if (running?.claim === claim) return { code: 'run_already_active' };
    const { handle } = task;
    if (handle?.isRevoked) return { code: 'child_handle_revoked' };
    if (handle?.run !== undefined && !['suspended', 'running'].includes(handle.run.status))
      return { code: 'child_run_already_bound' };
    this.#failRunning(task);
    task.attempts += 1;
    const made: RunModel = {
      id: '',
      events: ['run.started'],
      claim,
      attempt: task.attempts,
      status: 'running',
    };
    this.runs.push(made);
    if (handle !== undefined) {
      handle.run = made;
      handle.parent.events.push('run.child.started');
    }
    return { code: 'ok', made };
  }

  succeed(run: RunModel, by: number, completeTask: boolean): Verdict {
    if (run.status !== 'running') return { code: 'run_not_active' };
    if (run.claim.holder !== by) return { code: 'run_holder_mismatch' };
    const { task } = run.claim;
    const refusal = completeTask ? this.#incompletable(task) : undefined;
    const code = refusal ?? gate(task, run.claim, by);
    if (code !== 'ok') return { code };
    this.#endRun(run, 'succeeded', 'run.succeeded');
    forgetFailures(task);
    if (completeTask) this.#complete(task, run.claim);
    return ok;
  }

  failRun(run: RunModel, by: number): Verdict {
    if (run.claim.holder !== by) return { code: 'run_holder_mismatch' };
    if (run.status !== 'running') return { code: 'run_not_active' };
    this.#endRun(run, 'failed', 'run.failed');
    this.#countFailure(run.claim);
    return ok;
  }

  /**
   * Counts a failed attempt of the task's newest claim, and pauses the task. If the lease has expired, the failure was
   * already counted, or is counted now, and causes no pause.
   */
  #countFailure(claim: ClaimModel): void {
    const { task } = claim;
    if (claim.token !== task.epoch || isTerminal(task)) return;
    if (claim.status !== 'stale') task.failures += 1;
    if (claim.status === 'stale' || (claim.status === 'active' && claim.isOver)) return;
    task.isPaused = true;
    task.events.push('task.retry_scheduled');
  }

  makeAvailable(task: TaskModel): Verdict {
    if (task.isPaused || task.failures > 0) task.events.push('task.made_available');
    forgetFailures(task);
    return ok;
  }

  cancelRun(run: RunModel, by: number): Verdict {
    if (run.claim.holder !== by) return { code: 'run_holder_mismatch' };
    if (run.status !== 'running') return { code: 'run_not_active' };
    this.#endRun(run, 'cancelled', 'run.cancelled');
    return ok;
  }

  suspend(run: RunModel, by: number): Verdict {
    const code = this.#liveOwner(run, by);
    if (code !== 'ok') return { code };
    this.#endRun(run, 'suspended', 'run.suspended');
    this.#release(run.claim, { moves: true });
    return ok;
  }

  checkpoint(run: RunModel, by: number): Verdict {
    const code = this.#liveOwner(run, by);
    if (code === 'ok') run.events.push('run.checkpointed');
    return { code };
  }

  requestGate(task: TaskModel): Verdict<ApprovalModel> {
    if (isTerminal(task)) return { code: 'invalid_approval' };
    return { code: 'ok', made: this.#ask(task) };
  }

  #ask(task: TaskModel, renews?: ApprovalModel): ApprovalModel {
    const { titleChanges } = task;
    const made: ApprovalModel = {
      id: '',
      events: ['approval.requested'],
      task,
      titleChanges,
      renews,
      status: 'pending',
    };
    this.approvals.push(made);
    return made;
  }

  decide(approval: ApprovalModel, outcome: 'approved' | 'rejected'): Verdict {
    if (approval.status !== 'pending') return { code: 'approval_already_decided' };
    if (outcome === 'approved' && approval.titleChanges !== approval.task.titleChanges)
      return { code: 'approval_subject_changed' };
    approval.status = outcome;
    approval.events.push(`approval.${outcome}`);
    return ok;
  }

  cancelApproval(approval: ApprovalModel): Verdict {
    if (approval.status === 'cancelled') return ok;
    if (approval.status !== 'pending') return { code: 'approval_already_decided' };
    approval.status = 'cancelled';
    approval.events.push('approval.cancelled');
    return ok;
  }

  launch(run: RunModel, by: number): Verdict<HandleModel> {
    const code = this.#liveOwner(run, by);
    if (code !== 'ok') return { code };
    const own = run.claim.task.handle;
    if (own?.isRevoked) return { code: 'child_handle_revoked' };
    const depth = (own?.depth ?? 0) + 1;
    if (depth > depthMax) return { code: 'child_depth_exceeded' };
    const made: HandleModel = { id: '', events: [], parent: run, run: undefined, isRevoked: false, depth };
    run.events.push('run.child.launched');
    this.handles.push(made);
    return { code: 'ok', made };
  }

  revoke(handle: HandleModel, by: number): Verdict {
    if (handle.parent.claim.holder !== by) return { code: 'run_holder_mismatch' };
    if (!handle.isRevoked) handle.parent.events.push('run.child.revoked');
    handle.isRevoked = true;
    return ok;
  }

  /** Cancels a run and every running one below it, and revokes those of their launches that have not been started. */
  forceCancel(run: RunModel): Verdict {
    if (run.status !== 'running') return { code: 'run_not_active' };
    this.#forceCancel(run);
    const below = this.#tasksBelow(run.claim.task);
    for (const task of below) {
      const running = this.#runningOf(task);
      if (running !== undefined) this.#forceCancel(running);
    }
    for (const task of below) {
      const { handle } = task;
      if (handle === undefined || handle.run !== undefined || handle.isRevoked || isTerminal(task)) continue;
      handle.isRevoked = true;
      handle.parent.events.push('run.child.revoked');
    }
    return ok;
  }

  #tasksBelow(task: TaskModel): TaskModel[] {
    const children = this.tasks.filter(({ handle }) => handle?.parent.claim.task === task);
    return [...children, ...children.flatMap((child) => this.#tasksBelow(child))];
  }

  #forceCancel(run: RunModel): void {
    run.events.push('run.control_message.applied');
    this.#endRun(run, 'cancelled', 'run.cancelled');
    if (run.claim.status === 'active') this.#release(run.claim, { moves: true });
  }

  #obstacle(task: TaskModel): string | undefined {
    if (isTerminal(task)) return 'task_not_claimable';
    if (this.#hasGate(task)) return 'approval_required';
    if (task.isPaused) return 'task_not_due';
    return isLive(task.active) ? 'task_already_claimed' : undefined;
  }

  #incompletable(task: TaskModel): string | undefined {
    if (task.status === 'done') return 'task_already_completed';
    if (task.status === 'cancelled') return 'task_cancelled';
    return this.#hasGate(task) ? 'approval_required' : undefined;
  }

  #liveOwner(run: RunModel, by: number): string {
    if (run.status !== 'running') return 'run_not_active';
    if (run.claim.holder !== by) return 'run_holder_mismatch';
    return gate(run.claim.task, run.claim, by);
  }

  #hasGate(task: TaskModel): boolean {
    return this.approvals.some((approval) => approval.task === task && approval.status === 'pending');
  }

  #runningOf(task: TaskModel): RunModel | undefined {
    return this.runs.find(({ claim, status }) => claim.task === task && status === 'running');
  }

  #failRunning(task: TaskModel): void {
    const running = this.#runningOf(task);
    if (running !== undefined) this.#endRun(running, 'failed', 'run.failed');
  }

  #endRun(run: RunModel, status: RunModel['status'], event: string): void {
    run.status = status;
    run.events.push(event);
    const { handle } = run.claim.task;
    if (status !== 'suspended' && handle?.run === run) handle.parent.events.push('run.child.resolved');
  }

  #complete(task: TaskModel, presented: ClaimModel | undefined): void {
    if (presented !== undefined) this.#release(presented, { moves: false });
    task.status = 'done';
    forgetFailures(task);
    task.events.push('task.completed');
  }

  #release(claim: ClaimModel, { moves }: { moves: boolean }): void {
    this.#endClaim(claim, 'released', 'claim.released', moves);
  }

  #expire(claim: ClaimModel, { moves }: { moves: boolean }): void {
    const hasFailed = this.runs.some((run) => run.claim === claim && run.status === 'failed');
    if (!hasFailed && !isTerminal(claim.task)) claim.task.failures += 1;
    this.#endClaim(claim, 'stale', 'claim.expired', moves);
  }

  #endClaim(claim: ClaimModel, status: ClaimModel['status'], event: string, moves: boolean): void {
    claim.status = status;
    claim.events.push(event);
    claim.task.active = undefined;
    if (moves && claim.task.status === 'in_progress') claim.task.status = 'todo';
  }
}

function isLive(claim: ClaimModel | undefined): boolean {
  return claim?.status === 'active' && !claim.isOver;
}

function forgetFailures(task: TaskModel): void {
  task.failures = 0;
  task.isPaused = false;
}

const isTerminal = ({ status }: TaskModel) => status === 'done' || status === 'cancelled';

/** The table of docs/reference/claims.md#claim-gate. */
function gate(task: TaskModel, presented: ClaimModel | undefined, by: number): string {
  const live = isLive(task.active) ? task.active : undefined;
  if (live === undefined) return presented === undefined ? 'ok' : 'stale_claim';
  if (presented === undefined) return 'task_claimed';
  if (presented !== live) return 'stale_claim';
  return live.holder === by ? 'ok' : 'claim_holder_mismatch';
}
