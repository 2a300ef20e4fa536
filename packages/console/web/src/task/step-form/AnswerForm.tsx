import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useEffect, useMemo, useRef, useState } from 'react';
import { BatonError, type Task, type TaskForm } from '@baton/sdk';
import { baton } from '../../client.ts';
import { ErrorNote } from '../../parts/Notes.tsx';
import { notify } from '../../parts/Notices.tsx';
import { taskQuery, versionOf } from '../../queries.ts';
import { Conflict } from '../Conflict.tsx';
import { fenceOf } from '../holds.ts';
import { type Answers, fieldsOf, formatFieldValue, isSame, parseAnswer, withAnswers } from './form-fields.ts';
import { registerForm } from './form-registry.ts';
import { StepField } from './StepField.tsx';
import styles from './step-form.module.css';

interface AnswerFormProps {
  readonly task: Task;
  readonly form: TaskForm;
  /** Whether this person may not fill in the form. */
  readonly isLocked: boolean;
}

type Texts = Readonly<Record<string, string | undefined>>;

/** The fields of a form. They can be saved as a draft, or submitted to complete the task. */
export function AnswerForm({ task, form, isLocked }: AnswerFormProps) {
  const queries = useQueryClient();
  const element = useRef<HTMLFormElement>(null);
  const hasFailed = useRef(false);
  const fields = useMemo(() => fieldsOf(form.form ?? {}), [form.form]);
  // Only this person's input, so that concurrent changes by others are shown.
  const [typed, setTyped] = useState<Texts>({});
  const [faults, setFaults] = useState<Texts>({});
  const textFor = (field: (typeof fields)[number]) =>
    typed[field.name] ?? formatFieldValue(field, task.customFields[field.name] ?? field.initial);

  /** @throws BatonError if an answer can't be parsed */
  function answers(): Answers {
    const found: Record<string, string> = {};
    const read: Record<string, unknown> = {};
    for (const field of fields)
      try {
        read[field.name] = parseAnswer(field, textFor(field));
      } catch (error) {
        found[field.name] = (error as Error).message;
      }
    setFaults(found);
    const [first] = Object.values(found);
    if (first !== undefined)
      throw new BatonError({ code: 'custom_fields_invalid', message: first, status: 422 });
    return read;
  }

  /** Sends the answers that differ from the stored ones. */
  async function send(): Promise<Task> {
    const customFields = withAnswers(task.customFields, answers());
    if (isSame(customFields, task.customFields)) return task;
    const change = { customFields, ...fenceOf(task.id) };
    const changed = await baton.tasks.update(task.id, change, { ifMatch: versionOf(task) });
    queries.setQueryData(taskQuery(task.publicId).queryKey, changed);
    setTyped({});
    return changed;
  }

  /** Validates the form before a completion; the browser points at an invalid field. */
  async function sendWhole(): Promise<Task> {
    if (element.current?.reportValidity() === false)
      throw new BatonError({
        code: 'custom_fields_invalid',
        message: 'Fill in the process form before you complete the task.',
        status: 422,
      });
    return send();
  }
  const latest = useRef(sendWhole);
  latest.current = sendWhole;
  useEffect(
    () => (isLocked ? undefined : registerForm(task.id, () => latest.current())),
    [task.id, isLocked],
  );

  const settle = () => {
    for (const key of ['tasks', 'me']) void queries.invalidateQueries({ queryKey: [key] });
  };
  const onError = (error: unknown) => {
    setFaults((found) => ({ ...found, ...faultsIn(error) }));
    hasFailed.current = true;
  };
  const save = useMutation({
    mutationFn: send,
    onError,
    onSuccess: () => notify(`Saved the answers to ${task.publicId}.`),
    onSettled: settle,
  });
  const complete = useMutation({
    async mutationFn() {
      const ifMatch = versionOf(await sendWhole());
      return baton.tasks.complete(task.id, fenceOf(task.id), { ifMatch });
    },
    onError,
    onSuccess: ({ publicId, systemStatusCategory }) =>
      notify(
        systemStatusCategory === 'terminal_success'
          ? `Completed ${publicId}.`
          : `Submitted ${publicId}. It is done when its acceptance checks have passed.`,
      ),
    onSettled: settle,
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    complete.mutate();
  }
  // When the fields are enabled again, the first invalid one gets the focus.
  const isBusy = save.isPending || complete.isPending;
  useEffect(() => {
    if (isBusy || !hasFailed.current) return;
    hasFailed.current = false;
    element.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [isBusy]);
  const { error } = complete.isError ? complete : save;
  const isConflict = error instanceof BatonError && error.code === 'version_conflict';
  return (
    <form ref={element} className="stack" aria-label="Answers" onSubmit={onSubmit}>
      <fieldset className={styles.fields} disabled={isLocked || isBusy}>
        {fields.length === 0 && <p className="soft">The form has no fields.</p>}
        {fields.map((field) => (
          <StepField
            key={field.name}
            field={field}
            text={textFor(field)}
            fault={faults[field.name]}
            onChange={(text) => {
              setTyped((before) => ({ ...before, [field.name]: text }));
              setFaults((found) => ({ ...found, [field.name]: undefined }));
            }}
          />
        ))}
      </fieldset>
      {error !== null && (isConflict ? <Conflict task={task} /> : <ErrorNote error={error} />)}
      {!isLocked && (
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy}>
            {complete.isPending ? 'Submitting …' : 'Submit and complete'}
          </button>
          <button
            type="button"
            disabled={isBusy}
            onClick={() => {
              complete.reset();
              save.mutate();
            }}
          >
            {save.isPending ? 'Saving …' : 'Save draft'}
          </button>
        </div>
      )}
    </form>
  );
}

/** The service's validation errors by field. */
function faultsIn(error: unknown): Texts {
  const errors = error instanceof BatonError ? error.details['errors'] : undefined;
  if (!Array.isArray(errors)) return {};
  return Object.fromEntries(
    errors.flatMap(({ path, message }: { path?: unknown; message?: unknown }) => {
      const [, name] = /^\/([^/]+)/.exec(String(path)) ?? [];
      return name === undefined ? [] : [[name.replaceAll('~1', '/').replaceAll('~0', '~'), String(message)]];
    }),
  );
}
