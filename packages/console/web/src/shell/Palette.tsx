import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { type SubmitEvent, useDeferredValue, useEffect, useState } from 'react';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { type Action, formatKeys } from './actions.ts';
import styles from './shell.module.css';
import { useTaskActions } from './task-actions.tsx';

const groups = ['This task', 'Work', 'Pages', 'Saved views', 'Console'] as const;
const foundMax = 8;
const wordsCharactersMax = 200;

interface PaletteProps {
  readonly actions: readonly Action[];
  /** The initial text of the field. */
  readonly given: string;
  onClose(): void;
}

/** The command palette: actions and matching tasks. */
export default function Palette({ actions, given, onClose }: PaletteProps) {
  const all = [...useTaskActions(), ...actions];
  const [prompted, setPrompted] = useState<Action>();
  const choose = (action: Action) => {
    if (action.prompt !== undefined) return setPrompted(action);
    onClose();
    void action.run('');
  };
  // The dialog of cmdk injects a style element, which the content security policy forbids.
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.overlay} />
        <Dialog.Popup className={`${styles.dialog} ${styles.palette}`} aria-label="Commands">
          {prompted === undefined ? (
            <Choice actions={all} given={given} onChoose={choose} onClose={onClose} />
          ) : (
            <Prompt action={prompted} onClose={onClose} />
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Choice({
  actions,
  given,
  onChoose,
  onClose,
}: PaletteProps & { readonly onChoose: (action: Action) => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState(given);
  const words = useDeferredValue(text.trim());
  const found = useQuery({
    queryKey: ['tasks', 'palette', words],
    queryFn: ({ signal }) =>
      baton.tasks.list({ q: words, limit: foundMax }, { signal }).then(({ items }) => items),
    enabled: words.length > 1,
    placeholderData: (before) => before,
  });
  const tasks = words.length > 1 ? (found.data ?? []) : [];
  const [chosen, setChosen] = useState('');
  // Tasks arrive after the input. If no action matches, Enter opens the first task.
  const firstFound = tasks[0] && valueOf(tasks[0]);
  useEffect(() => {
    if (firstFound !== undefined)
      setChosen((before) => (before === '' || before === searchValue ? firstFound : before));
  }, [firstFound]);
  return (
    <Command label="Commands" loop value={chosen} onValueChange={setChosen}>
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="Type a command or search tasks …"
        maxLength={wordsCharactersMax}
        autoFocus
      />
      <Command.List>
        {text.trim().length <= 1 && <Command.Empty>No results.</Command.Empty>}
        {groups.map((group) => {
          const own = actions.filter((action) => action.group === group);
          if (own.length === 0) return null;
          return (
            <Command.Group key={group} heading={group}>
              {own.map((action) => (
                <Command.Item key={action.name} value={action.name} onSelect={() => onChoose(action)}>
                  <span className={styles.action}>
                    {action.name}
                    {action.prompt !== undefined && ' …'}
                  </span>
                  {action.keys !== undefined && (
                    <kbd className={styles.actionKeys}>{formatKeys(action.keys)}</kbd>
                  )}
                </Command.Item>
              ))}
            </Command.Group>
          );
        })}
        {text.trim().length > 1 && (
          <Command.Group heading="Tasks" forceMount>
            {tasks.map((task) => (
              <Command.Item
                key={task.id}
                value={valueOf(task)}
                forceMount
                onSelect={() => {
                  onClose();
                  void navigate({ to: '/tasks/$ref', params: { ref: task.publicId } });
                }}
              >
                <span className={styles.action}>
                  <span className="mono soft">{task.publicId}</span> {task.title}
                </span>
              </Command.Item>
            ))}
            <Command.Item
              value={searchValue}
              forceMount
              onSelect={() => {
                onClose();
                void navigate({ to: '/', search: { q: text.trim() } });
              }}
            >
              <span className={styles.action}>Search all tasks for “{text.trim()}”</span>
            </Command.Item>
          </Command.Group>
        )}
      </Command.List>
    </Command>
  );
}

const searchValue = 'search all tasks';
const valueOf = ({ publicId, title }: Task) => `${publicId} ${title}`.trim();

/** Prompts for the text that an action requires. */
function Prompt({ action, onClose }: { readonly action: Action; onClose(): void }) {
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const answer = String(new FormData(event.currentTarget).get('answer')).trim();
    if (answer === '') return;
    onClose();
    void action.run(answer);
  }
  return (
    <form className="stack" onSubmit={onSubmit}>
      <label className="stack">
        {action.prompt?.label}
        <input name="answer" maxLength={action.prompt?.charactersMax} required autoFocus autoComplete="off" />
      </label>
      <div className="row">
        <button type="submit" className="primary">
          {action.name}
        </button>
        <Dialog.Close>Cancel</Dialog.Close>
      </div>
    </form>
  );
}
