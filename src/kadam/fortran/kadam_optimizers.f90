! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> The optimizer, and the result of its steps.
module kadam_optimizers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use mpi_f08, only: MPI_Comm
  use kadam_c_interface
  use kadam_setups, only: kadam_setup
  implicit none
  private

  public :: kadam_optimizer, kadam_step_result

  !> The result of a step.
  type :: kadam_step_result
    integer(int64) :: step = 0 !< number of steps taken so far; a skipped step does not count
    character(len=16) :: phase = '' !< the kind of step: 'dense', 'warm-up', 'compressed', ...
    !> gradient_norm: before clipping, as in kadam.h; gradient_scale: factor by which clipping multiplied the gradient
    real(real64) :: learning_rate = 0, gradient_norm = 0, gradient_scale = 1
    logical :: skipped = .false. !< a gradient was NaN or infinite on some rank, and no rank changed anything
    logical :: synchronised = .true. !< parameters are equal on all ranks now; a skipped step leaves this as it was
    integer(int32) :: raised = 0 !< all bits given to raise() on any rank; the same on all ranks
    !> In the last step of a round of local_adam and local_muon: number of steps of the round that ranks skipped on
    !> their own because their gradient was NaN or infinite, summed over all ranks; plus 1 if all ranks dropped the
    !> round because the steps of some rank did not stay finite. Else 0. Such a step counts.
    integer(int64) :: skipped_alone = 0
  end type

  !> An optimizer: each rank has one, made with the same setup.
  type :: kadam_optimizer
    private
    type(c_ptr) :: handle = c_null_ptr
    integer(int64) :: elements = 0
  contains
    procedure :: create => optimizer_create
    procedure :: destroy => optimizer_destroy
    !> Takes one step: updates x from this rank's own gradient, of real32, or of 16 bits in an integer(int16), as the
    !> option 'gradients' says. Collective. An array of another kind or a wrong size is refused, and ends the step on
    !> all ranks, as give_up_step() does; of a type(c_ptr) neither is known.
    !> step(x, gradient, stat [, errmsg] [, result])
    generic :: step => step_real32, step_int16, step_device
    !> Sets 'lr', 'weight_decay' or 'clip_norm' from the next step on; a number of real32 or real64.
    generic :: set => set_real32, set_real64
    procedure :: set_group => optimizer_set_group
    procedure :: gradient_ready => optimizer_gradient_ready
    procedure :: give_up_step => optimizer_give_up_step
    procedure :: progress => optimizer_progress
    procedure :: raise => optimizer_raise
    procedure :: flush => optimizer_flush
    procedure :: consensus => optimizer_consensus
    procedure :: wait => optimizer_wait
    procedure :: set_stream => optimizer_set_stream
    !> From now on parameters are written to this array as well, rounded to 16 bits; it must exist until another is set
    !> or the optimizer is destroyed.
    procedure :: set_model => optimizer_set_model
    procedure :: save => optimizer_save
    procedure :: load => optimizer_load
    procedure :: load_newest => optimizer_load_newest
    procedure :: keep_snapshots => optimizer_keep_snapshots
    procedure :: after_step => optimizer_after_step
    procedure :: go_on => optimizer_go_on
    procedure :: door => optimizer_door
    procedure :: has_newcomers => optimizer_has_newcomers
    procedure :: admit => optimizer_admit
    procedure :: join => optimizer_join
    !> Returns the words that were saved with the checkpoint or snapshot restored last; '' if there are none.
    procedure :: words => optimizer_words
    procedure :: statistics => optimizer_statistics
    procedure :: measure_phases => optimizer_measure_phases
    procedure :: health => optimizer_health
    procedure, private :: step_real32, step_int16, step_device, set_real32, set_real64
  end type

contains

  !> Makes the optimizer over the ranks of comm, of which a duplicate is made. Call destroy() first if there is one
  !> already. Collective.
  subroutine optimizer_create(this, setup, comm, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    class(kadam_setup), intent(in) :: setup
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    type(kadam_statistics) :: figures
    integer :: ignored
    call report(c_create_fortran(setup%c_handle(), int(comm%MPI_VAL, c_int), this%handle, error), error, stat, errmsg)
    if (stat /= kadam_success) return
    call this%statistics(figures, ignored)
    this%elements = figures%elements
  end subroutine

  !> Destroys the optimizer, if there is one. Call it before Kokkos and MPI end. Collective.
  subroutine optimizer_destroy(this, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_destroy(this%handle, error), error, stat, errmsg)
  end subroutine

  subroutine step_real32(this, x, gradient, stat, errmsg, result)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    real(real32), intent(in), contiguous, target :: gradient(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(kadam_step_result), intent(out), optional :: result
    if (.not. step_fits(this, size(x, kind=int64), size(gradient, kind=int64), 32, stat, errmsg)) return
    call this%step_device(c_loc(x), c_loc(gradient), stat, errmsg, result)
  end subroutine

  subroutine step_int16(this, x, gradient, stat, errmsg, result)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    integer(int16), intent(in), contiguous, target :: gradient(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(kadam_step_result), intent(out), optional :: result
    if (.not. step_fits(this, size(x, kind=int64), size(gradient, kind=int64), 16, stat, errmsg)) return
    call this%step_device(c_loc(x), c_loc(gradient), stat, errmsg, result)
  end subroutine

  subroutine step_device(this, x, gradient, stat, errmsg, result)
    class(kadam_optimizer), intent(inout) :: this
    type(c_ptr), intent(in) :: x, gradient
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(kadam_step_result), intent(out), optional :: result
    type(c_error) :: error
    type(c_step_result) :: done
    call report(c_step(this%handle, x, gradient, done, error), error, stat, errmsg)
    if (stat /= kadam_success .or. .not. present(result)) return
    result%step = done%step
    result%phase = text_at(done%phase)
    result%learning_rate = done%learning_rate
    result%gradient_norm = done%gradient_norm
    result%gradient_scale = done%gradient_scale
    result%skipped = done%skipped /= 0
    result%synchronised = done%synchronised /= 0
    result%raised = done%raised
    result%skipped_alone = done%skipped_alone
  end subroutine

  subroutine set_real64(this, option, value, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    character(len=*), intent(in) :: option
    real(real64), intent(in) :: value
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_set(this%handle, c_text(option), real(value, c_double), error), error, stat, errmsg)
  end subroutine

  subroutine set_real32(this, option, value, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    character(len=*), intent(in) :: option
    real(real32), intent(in) :: value
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    call this%set_real64(option, as_written(value), stat, errmsg)
  end subroutine

  !> Sets lr_scale and weight_decay of a parameter group from the next step on. tensors: the pattern that setup%group()
  !> was given. weight_decay: default that of the optimizer. An lr_scale of 0 must stay 0, and one above 0 above 0; else
  !> stat is kadam_invalid_argument.
  subroutine optimizer_set_group(this, tensors, lr_scale, stat, errmsg, weight_decay)
    class(kadam_optimizer), intent(inout) :: this
    character(len=*), intent(in) :: tensors
    real(real64), intent(in) :: lr_scale
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    real(real64), intent(in), optional :: weight_decay
    type(c_error) :: error
    real(c_double) :: decay
    decay = ieee_value(decay, ieee_quiet_nan)
    if (present(weight_decay)) decay = weight_decay
    call report(c_set_group(this%handle, c_text(tensors), real(lr_scale, c_double), decay, error), &
                error, stat, errmsg)
  end subroutine

  !> Says that elements first to last of the next gradient, counted from 1, are final and may be sent. The next step()
  !> must be given the same gradient. Only for gradients of real32, which must be contiguous.
  subroutine optimizer_gradient_ready(this, gradient, first, last, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), target :: gradient(:)
    integer(int64), intent(in) :: first, last
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    if (.not. fits(this, 'gradient', size(gradient, kind=int64), stat, errmsg)) return
    if (.not. has_gradient_bits(this, 32, stat, errmsg)) return
    ! A contiguous argument would be a copy of an array that is not, gone when this returns.
    if (.not. is_contiguous(gradient)) then
      call refuse('kadam_optimizer: gradient_ready() needs a contiguous gradient', stat, errmsg)
      return
    end if
    call report(c_gradient_ready(this%handle, c_loc(gradient(lbound(gradient, 1))), first - 1, last, error), &
      error, stat, errmsg)
  end subroutine

  !> Ends the step on all ranks, and their step() fails. A rank that cannot take the step calls this instead of step().
  subroutine optimizer_give_up_step(this, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_give_up_step(this%handle, error), error, stat, errmsg)
  end subroutine

  !> Moves on messages that travel in the background. Call it now and then while the gradient is computed.
  subroutine optimizer_progress(this, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_progress(this%handle, error), error, stat, errmsg)
  end subroutine

  !> Gives bits to all ranks: each finds them in the result of the next step (with local_adam and local_muon
  !> by default: of the last step of the round).
  subroutine optimizer_raise(this, bits, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer(int32), intent(in) :: bits
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_raise(this%handle, bits, error), error, stat, errmsg)
  end subroutine

  !> Delivers exactly what ranks still hold back; x is then equal on all ranks. Call it at the end of training.
  !> Collective.
  subroutine optimizer_flush(this, x, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    call report(c_flush(this%handle, c_loc(x), error), error, stat, errmsg)
  end subroutine

  !> Writes the x that flush() would leave to consensus, and does not change the state. Collective.
  subroutine optimizer_consensus(this, x, consensus, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), contiguous, target :: x(:)
    real(real32), intent(inout), contiguous, target :: consensus(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    if (.not. fits(this, 'consensus', size(consensus, kind=int64), stat, errmsg)) return
    call report(c_consensus(this%handle, c_loc(x), c_loc(consensus), error), error, stat, errmsg)
  end subroutine

  !> Waits until the stream has done everything that was launched on it.
  subroutine optimizer_wait(this, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_wait(this%handle, error), error, stat, errmsg)
  end subroutine

  !> Sets the stream that kernels are launched on: a cudaStream_t or hipStream_t.
  subroutine optimizer_set_stream(this, stream, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    type(c_ptr), intent(in) :: stream
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_set_stream(this%handle, stream, error), error, stat, errmsg)
  end subroutine

  !> model_format: kadam_bfloat16 or kadam_float16. A pointer that is not associated: no model any more.
  subroutine optimizer_set_model(this, model, model_format, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer(int16), pointer, contiguous, intent(in) :: model(:)
    integer, intent(in) :: model_format
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    type(c_ptr) :: place
    place = c_null_ptr
    if (associated(model)) then
      if (.not. fits(this, 'model', size(model, kind=int64), stat, errmsg)) return
      place = c_loc(model)
    end if
    call report(c_set_model(this%handle, place, int(model_format, c_int), error), error, stat, errmsg)
  end subroutine

  ! ---- checkpoints ------------------------------------------------------------------------------------------

  !> Saves everything that is needed to go on to the last bit in folder/step-... Collective. keep: how many checkpoints
  !> stay (default 2; 0: all). words: a text that words() returns after the checkpoint was loaded.
  subroutine optimizer_save(this, x, folder, stat, errmsg, keep, words)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), contiguous, target :: x(:)
    character(len=*), intent(in) :: folder
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer, intent(in), optional :: keep
    character(len=*), intent(in), optional :: words
    type(c_error) :: error
    integer(c_int) :: count
    character(len=:), allocatable :: text
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    count = 2
    if (present(keep)) count = int(keep, c_int)
    text = ''
    if (present(words)) text = words
    call report(c_save(this%handle, c_loc(x), c_text(folder), count, c_text(text), error), error, stat, errmsg)
  end subroutine

  !> Restores the optimizer and x from the checkpoint of this path. step: number of steps taken. Collective.
  subroutine optimizer_load(this, x, checkpoint, stat, errmsg, step)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    character(len=*), intent(in) :: checkpoint
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer(int64), intent(out), optional :: step
    type(c_error) :: error
    integer(c_int64_t) :: taken
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    call report(c_load(this%handle, c_loc(x), c_text(checkpoint), taken, error), error, stat, errmsg)
    if (stat == kadam_success .and. present(step)) step = taken
  end subroutine

  !> Restores the optimizer and x from the newest whole checkpoint in a folder. stat is kadam_no_checkpoint if there is
  !> no checkpoint at all. Collective.
  subroutine optimizer_load_newest(this, x, folder, stat, errmsg, step)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    character(len=*), intent(in) :: folder
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer(int64), intent(out), optional :: step
    type(c_error) :: error
    integer(c_int64_t) :: taken
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    call report(c_load_newest(this%handle, c_loc(x), c_text(folder), taken, error), error, stat, errmsg)
    if (stat == kadam_success .and. present(step)) step = taken
  end subroutine

  ! ---- ranks that fail --------------------------------------------------------------------------------------

  !> Takes a snapshot into the memory of the ranks now, and lets after_step() take one whenever the number of steps
  !> taken is a multiple of `every`. spread: number of steps over which a rank's part travels to the rank that keeps a
  !> copy of it (default 1). Collective.
  subroutine optimizer_keep_snapshots(this, x, every, stat, errmsg, spread, words)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), contiguous, target :: x(:)
    integer, intent(in) :: every
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer, intent(in), optional :: spread
    character(len=*), intent(in), optional :: words
    type(c_error) :: error
    integer(c_int64_t) :: steps
    character(len=:), allocatable :: text
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    steps = 1
    if (present(spread)) steps = spread
    text = ''
    if (present(words)) text = words
    call report(c_keep_snapshots(this%handle, c_loc(x), int(every, c_int64_t), steps, c_text(text), error), &
                error, stat, errmsg)
  end subroutine

  !> Takes a snapshot if one is due, and sends the next pieces of one that travels. Call it after every step.
  !> Collective.
  subroutine optimizer_after_step(this, x, stat, errmsg, words)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), contiguous, target :: x(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    character(len=*), intent(in), optional :: words
    type(c_error) :: error
    character(len=:), allocatable :: text
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    text = ''
    if (present(words)) text = words
    call report(c_after_step(this%handle, c_loc(x), c_text(text), error), error, stat, errmsg)
  end subroutine

  !> After kadam_peer_failure: makes the optimizer anew for the ranks that are left, and restores the newest whole
  !> snapshot. Collective over these ranks. stat is kadam_no_snapshot if none is whole: load_newest() can go on then.
  !> It is kadam_no_snapshot too, nothing is made anew, and survivors%ranks is 0, if keep_snapshots() was not called.
  subroutine optimizer_go_on(this, x, stat, errmsg, survivors)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(kadam_survivors), intent(out), optional :: survivors
    type(c_error) :: error
    type(kadam_survivors) :: left
    left = kadam_survivors(0, 0, 0, 0)
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    call report(c_go_on(this%handle, c_loc(x), left, error), error, stat, errmsg)
    if (present(survivors) .and. (stat == kadam_success .or. stat == kadam_no_snapshot)) survivors = left
  end subroutine

  !> Returns the address at which processes ask this rank to join, 'HOST:PORT'; '' over MPI.
  function optimizer_door(this) result(text)
    class(kadam_optimizer), intent(in) :: this
    character(len=:), allocatable :: text
    text = text_at(c_door(this%handle))
  end function

  !> Whether a process had asked to join when the last snapshot became whole. The same on all ranks.
  logical function optimizer_has_newcomers(this)
    class(kadam_optimizer), intent(in) :: this
    optimizer_has_newcomers = c_has_newcomers(this%handle) /= 0
  end function

  !> Takes in the processes that ask to join: takes a snapshot now, makes the optimizer anew for the present ranks and
  !> the newcomers, and restores that snapshot. If no process asks any more, everything stays as it is. Collective.
  subroutine optimizer_admit(this, x, stat, errmsg, words, ranks)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    character(len=*), intent(in), optional :: words
    type(kadam_survivors), intent(out), optional :: ranks
    type(c_error) :: error
    type(kadam_survivors) :: all
    character(len=:), allocatable :: text
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    text = ''
    if (present(words)) text = words
    call report(c_admit(this%handle, c_loc(x), c_text(text), all, error), error, stat, errmsg)
    if (present(ranks) .and. stat == kadam_success) ranks = all
  end subroutine

  !> Joins ranks that train. A process that is not one of them yet calls it, with an optimizer made as theirs over
  !> MPI_COMM_SELF; it waits until they call admit(). doors: door() of some of them, with spaces between. host: where
  !> others reach this process (default: Kadam finds it out). every, spread: as in their keep_snapshots().
  subroutine optimizer_join(this, x, doors, every, stat, errmsg, spread, host, ranks)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    character(len=*), intent(in) :: doors
    integer, intent(in) :: every
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer, intent(in), optional :: spread
    character(len=*), intent(in), optional :: host
    type(kadam_survivors), intent(out), optional :: ranks
    type(c_error) :: error
    type(kadam_survivors) :: all
    integer(c_int64_t) :: steps
    character(len=:), allocatable :: reached_at
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    steps = 1
    if (present(spread)) steps = spread
    reached_at = ''
    if (present(host)) reached_at = host
    call report(c_join(this%handle, c_loc(x), c_text(doors), c_text(reached_at), int(every, c_int64_t), steps, all, &
                       error), error, stat, errmsg)
    if (present(ranks) .and. stat == kadam_success) ranks = all
  end subroutine

  function optimizer_words(this) result(text)
    class(kadam_optimizer), intent(in) :: this
    character(len=:), allocatable :: text
    text = text_at(c_words(this%handle))
  end function

  ! ---- figures ----------------------------------------------------------------------------------------------

  subroutine optimizer_statistics(this, statistics, stat, errmsg)
    class(kadam_optimizer), intent(in) :: this
    type(kadam_statistics), intent(out) :: statistics
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_get_statistics(this%handle, statistics, error), error, stat, errmsg)
  end subroutine

  subroutine optimizer_measure_phases(this, on, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    logical, intent(in) :: on
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_measure_phases(this%handle, merge(1_c_int, 0_c_int, on), error), error, stat, errmsg)
  end subroutine

  !> Computes figures that say whether training goes well; a NaN where there is no such figure. Collective.
  subroutine optimizer_health(this, health, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    type(kadam_health), intent(out) :: health
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_get_health(this%handle, health, error), error, stat, errmsg)
  end subroutine

  !> Whether both arrays have the length of the tensors, and the gradient numbers of this many bits. If not, the step
  !> ends on all ranks.
  logical function step_fits(this, x_elements, gradient_elements, gradient_bits, stat, errmsg)
    class(kadam_optimizer), intent(in) :: this
    integer(int64), intent(in) :: x_elements, gradient_elements
    integer, intent(in) :: gradient_bits
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: ignored
    step_fits = fits(this, 'x', x_elements, stat, errmsg)
    if (step_fits) step_fits = fits(this, 'gradient', gradient_elements, stat, errmsg)
    if (step_fits) step_fits = has_gradient_bits(this, gradient_bits, stat, errmsg)
    if (.not. step_fits) ignored = c_give_up_step(this%handle, error)
  end function

  !> Whether step() takes gradients with numbers of this many bits; true without an optimizer.
  logical function has_gradient_bits(this, bits, stat, errmsg)
    class(kadam_optimizer), intent(in) :: this
    integer, intent(in) :: bits
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer :: wanted
    character(len=160) :: sentence
    stat = kadam_success
    wanted = merge(32, 16, c_gradient_format(this%handle) == c_float32)
    has_gradient_bits = bits == wanted .or. .not. c_associated(this%handle)
    if (has_gradient_bits) return
    write (sentence, '(a, i0, a, i0)') 'kadam_optimizer: gradient has numbers of ', bits, &
      " bits; the option 'gradients' of the setup asks for ", wanted
    call refuse(trim(sentence), stat, errmsg)
  end function

  !> Whether an array has as many elements as the optimizer has parameters; true without an optimizer.
  logical function fits(this, name, elements, stat, errmsg)
    class(kadam_optimizer), intent(in) :: this
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: elements
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    character(len=160) :: sentence
    stat = kadam_success
    ! Without an optimizer, the call of C reports that there is none.
    fits = elements == this%elements .or. .not. c_associated(this%handle)
    if (fits) return
    write (sentence, '(3a, i0, a, i0)') 'kadam_optimizer: ', name, ' has ', elements, &
      ' elements; the tensors of the setup have ', this%elements
    call refuse(trim(sentence), stat, errmsg)
  end function
end module kadam_optimizers
