import { Dialog } from '@base-ui/react/dialog';
import { places } from './places.ts';
import styles from './shell.module.css';

const keys: readonly [string, string][] = [
  ['Ctrl K', 'all commands'],
  ['/', 'search the tasks'],
  ['j, k', 'next, previous'],
  ['Enter', 'open'],
  ['c', 'create a task'],
  ...places.map(({ key, name }): [string, string] => [`g ${key}`, name]),
  ['?', 'this list'],
];

/** The keys of the console. */
export default function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.overlay} />
        <Dialog.Popup className={styles.dialog}>
          <Dialog.Title>Keys</Dialog.Title>
          <dl className={styles.keys}>
            {keys.map(([key, does]) => (
              <div key={key} style={{ display: 'contents' }}>
                <dt>{key}</dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <Dialog.Close>Close</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
