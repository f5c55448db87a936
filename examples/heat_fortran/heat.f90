! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> A heat equation that trains a surrogate of itself while it runs: the program owns its time loop and its MPI, and
!> calls Kadam once a jump.
!>
!>   mpirun -n 4 heat [OPTIMIZER [FOLDER]]
!>
!> du/dt = div(k(u) grad u) on a periodic square, k = 0.2 + u^2, explicit steps, slabs of rows per rank. The surrogate
!> is a perceptron that sees the 7 x 7 points around a point and says how its temperature changes within a jump of 10
!> steps: all ranks train one set of weights, each on points of its own slab. It is judged on fields that it has not
!> seen: another start. FOLDER gets truth, prediction and error as heat.dat; picture.py draws them.
program heat
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64, error_unit, output_unit
  use mpi_f08
  use kadam
  implicit none

  integer, parameter :: n = 96, jump = 10, radius = 3, width = 2*radius + 1
  integer, parameter :: inputs = width**2, hidden = 24, batch = 128, jumps = 1200, rounds = 4, restart = 60
  integer, parameter :: elements = inputs*hidden + 2*hidden + 1
  real(real64), parameter :: dt = 0.15_real64

  type(MPI_Comm) :: training
  type(kadam_optimizer) :: optimizer
  type(kadam_statistics) :: statistics
  real(real32), target :: x(elements), gradient(elements)
  real(real64), allocatable :: u(:, :), before(:, :), prediction(:, :)
  real(real32) :: unit
  real(real64) :: persistence, error, solver_seconds, training_seconds, start
  integer :: rank, ranks, rows, stat, k, round
  character(len=256) :: message, name, folder

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  name = argument(1, 'onebit_adam')
  folder = argument(2, '')
  rows = n*(rank + 1)/ranks - n*rank/ranks
  if (rows < radius) call fail('too many ranks: each rank needs at least 3 of the 96 rows')

  ! Gradients have a communicator of their own, beside that of the halos.
  call MPI_Comm_split(MPI_COMM_WORLD, 0, rank, training)
  call kadam_kokkos_initialize(stat, message)
  if (stat /= kadam_success) call fail(message)
  call create(optimizer, trim(name))

  allocate (u(n, 1 - radius:rows + radius), before(n, 1 - radius:rows + radius), prediction(n, rows))
  call start_network(x)
  solver_seconds = 0
  training_seconds = 0
  do k = 0, jumps - 1
    if (modulo(k, restart) == 0) call start_field(u, k/restart)
    start = MPI_Wtime()
    call exchange_halo(u)
    before = u
    call solve(u)
    solver_seconds = solver_seconds + MPI_Wtime() - start
    ! Changes in units of the first ones.
    if (k == 0) unit = real(sqrt(sum_of((u(:, 1:rows) - before(:, 1:rows))**2)/real(n, real64)**2), real32)
    start = MPI_Wtime()
    do round = 1, rounds
      call loss_and_gradient(before, u, k*rounds + round, gradient)
      call optimizer%step(x, gradient, stat, message)
      if (stat /= kadam_success) call fail(message)
    end do
    training_seconds = training_seconds + MPI_Wtime() - start
  end do
  call optimizer%flush(x, stat, message)
  if (stat /= kadam_success) call fail(message)

  ! A start that it has not seen, and some time later.
  call start_field(u, 1000)
  do k = 1, restart/2
    call exchange_halo(u)
    before = u
    call solve(u)
  end do
  call predict(before, prediction)
  persistence = sqrt(sum_of((u(:, 1:rows) - before(:, 1:rows))**2)/sum_of(u(:, 1:rows)**2))
  error = sqrt(sum_of((u(:, 1:rows) - prediction)**2)/sum_of(u(:, 1:rows)**2))
  call optimizer%statistics(statistics, stat, message)
  if (rank == 0) then
    write (output_unit, '(a, i0, a, i0, a)') trim(name)//' on ', ranks, ' ranks, ', jumps*rounds, ' training steps'
    write (output_unit, '(a, f8.3, a, f8.3, a)') 'per jump: solver ', 1e3*solver_seconds/jumps, ' ms, training ', &
      1e3*training_seconds/jumps, ' ms'
    write (output_unit, '(a, es10.3, a, es10.3)') 'relative error of a jump from an unseen start: surrogate ', error, &
      ', field unchanged ', persistence
    write (output_unit, '(a, i0, a, i0, a)') 'sent per training step and rank: ', &
      statistics%sent_bytes/statistics%steps_taken, ' B; the gradient has ', 4*elements, ' B'
  end if
  if (folder /= '') call write_fields(trim(folder))

  call optimizer%destroy(stat, message)
  if (stat /= kadam_success) call fail(message)
  call kadam_kokkos_finalize(stat, message)
  call MPI_Comm_free(training)
  call MPI_Finalize()

contains

  ! ---- Kadam ------------------------------------------------------------------------------------------------

  subroutine create(made, algorithm)
    type(kadam_optimizer), intent(inout) :: made
    character(len=*), intent(in) :: algorithm
    type(kadam_setup) :: setup
    call setup%create(algorithm)
    call setup%set('lr', 3e-3)
    call setup%set('lr_schedule', 'cosine')
    call setup%set('lr_total_steps', jumps*rounds)
    if (algorithm == 'onebit_adam' .or. algorithm == 'apmsqueeze') call setup%set('warmup_steps', 400)
    call setup%tensor('hidden.weights', inputs*hidden)
    call setup%tensor('hidden.bias', hidden)
    call setup%tensor('output.weights', hidden)
    call setup%tensor('output.bias', 1)
    call made%create(setup, training, stat, message)
    if (stat /= kadam_success) call fail(message)
    call setup%destroy()
  end subroutine

  ! ---- solver -----------------------------------------------------------------------------------------------

  !> Ten hot spots, other ones for every number.
  subroutine start_field(field, number)
    real(real64), intent(out) :: field(:, 1 - radius:)
    integer, intent(in) :: number
    real(real64) :: at(2), size, away(2)
    integer :: spot, i, j, row
    field = 0
    do spot = 1, 10
      at = n*[noise(number, 3*spot), noise(number, 3*spot + 1)]
      size = 3 + 5*noise(number, 3*spot + 2)
      do j = 1, rows
        row = n*rank/ranks + j
        do i = 1, n
          away = abs([real(i, real64), real(row, real64)] - at)
          away = min(away, n - away)
          field(i, j) = field(i, j) + exp(-sum(away**2)/(2*size**2))
        end do
      end do
    end do
    field = min(field, 1.0_real64)
  end subroutine

  !> The same on any number of ranks: 0 to 1.
  real(real64) function noise(number, index)
    integer, intent(in) :: number, index
    real(real64) :: wave
    wave = sin(12.9898_real64*number + 78.233_real64*index)*43758.5453_real64
    noise = wave - floor(wave)
  end function

  subroutine exchange_halo(field)
    real(real64), intent(inout) :: field(:, 1 - radius:)
    integer :: below, above
    below = modulo(rank - 1, ranks)
    above = modulo(rank + 1, ranks)
    call MPI_Sendrecv(field(:, rows - radius + 1:rows), n*radius, MPI_DOUBLE_PRECISION, above, 0, &
      field(:, 1 - radius:0), n*radius, MPI_DOUBLE_PRECISION, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(field(:, 1:radius), n*radius, MPI_DOUBLE_PRECISION, below, 1, &
      field(:, rows + 1:rows + radius), n*radius, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine

  !> Flux from a to b.
  pure real(real64) function flux(a, b)
    real(real64), intent(in) :: a, b
    flux = (0.2_real64 + 0.25_real64*(a + b)**2)*(a - b)
  end function

  !> A jump. Halos are as wide as three steps need.
  subroutine solve(field)
    real(real64), intent(inout) :: field(:, 1 - radius:)
    real(real64) :: next(n, 1 - radius:rows + radius)
    integer :: step, i, j, left, right, margin
    margin = radius
    do step = 1, jump
      if (margin == 0) then
        call exchange_halo(field)
        margin = radius
      end if
      margin = margin - 1
      do j = 1 - margin, rows + margin
        do i = 1, n
          left = modulo(i - 2, n) + 1
          right = modulo(i, n) + 1
          next(i, j) = field(i, j) + dt*(flux(field(left, j), field(i, j)) + flux(field(right, j), field(i, j)) &
            + flux(field(i, j - 1), field(i, j)) + flux(field(i, j + 1), field(i, j)))
        end do
      end do
      field(:, 1 - margin:rows + margin) = next(:, 1 - margin:rows + margin)
    end do
  end subroutine

  ! ---- surrogate --------------------------------------------------------------------------------------------

  subroutine start_network(parameters)
    real(real32), intent(out) :: parameters(:)
    integer :: i
    parameters = 0
    do i = 1, inputs*hidden
      parameters(i) = real(2*noise(2000, i) - 1, real32)/sqrt(real(inputs))
    end do
    do i = 1, hidden
      parameters(inputs*hidden + hidden + i) = real(2*noise(3000, i) - 1, real32)/sqrt(real(hidden))
    end do
  end subroutine

  !> What the network sees around points: differences to the point itself, and last the point.
  subroutine gather(field, i, j, seen)
    real(real64), intent(in) :: field(:, 1 - radius:)
    integer, intent(in) :: i(:), j(:)
    real(real32), intent(out) :: seen(:, :)
    integer :: point, a, b, k
    do point = 1, size(i)
      k = 0
      do b = -radius, radius
        do a = -radius, radius
          k = k + 1
          seen(k, point) = real(field(modulo(i(point) + a - 1, n) + 1, j(point) + b) &
            - field(i(point), j(point)), real32)
        end do
      end do
      seen((inputs + 1)/2, point) = real(field(i(point), j(point)), real32)
    end do
  end subroutine

  !> y = w2 . tanh(W1 s + b1) + b2, for all points at once.
  subroutine forward(seen, active, change)
    real(real32), intent(in) :: seen(:, :)
    real(real32), intent(out) :: active(:, :), change(:)
    integer :: at
    at = inputs*hidden
    active = tanh(matmul(reshape(x(1:at), [hidden, inputs]), seen) + spread(x(at + 1:at + hidden), 2, size(seen, 2)))
    change = matmul(x(at + hidden + 1:at + 2*hidden), active) + x(elements)
  end subroutine

  !> Of the mean square of the error in units of the first changes, over points of this rank's slab.
  subroutine loss_and_gradient(field, later, seed, slope)
    real(real64), intent(in) :: field(:, 1 - radius:), later(:, 1 - radius:)
    integer, intent(in) :: seed
    real(real32), intent(out) :: slope(:)
    real(real32) :: seen(inputs, batch), active(hidden, batch), change(batch), wrong(batch), back(hidden, batch)
    integer :: i(batch), j(batch), point, at
    do point = 1, batch
      i(point) = 1 + min(n - 1, int(n*noise(seed, 5*point + 7*rank)))
      j(point) = 1 + min(rows - 1, int(rows*noise(seed, 5*point + 7*rank + 1)))
    end do
    call gather(field, i, j, seen)
    call forward(seen, active, change)
    do point = 1, batch
      wrong(point) = change(point) - real(later(i(point), j(point)) - field(i(point), j(point)), real32)/unit
    end do
    wrong = 2*wrong/batch
    at = inputs*hidden
    back = spread(x(at + hidden + 1:at + 2*hidden), 2, batch)*spread(wrong, 1, hidden)*(1 - active**2)
    slope(1:at) = reshape(matmul(back, transpose(seen)), [at])
    slope(at + 1:at + hidden) = sum(back, 2)
    slope(at + hidden + 1:at + 2*hidden) = matmul(active, wrong)
    slope(elements) = sum(wrong)
  end subroutine

  subroutine predict(field, later)
    real(real64), intent(in) :: field(:, 1 - radius:)
    real(real64), intent(out) :: later(:, :)
    real(real32) :: seen(inputs, n), active(hidden, n), change(n)
    integer :: row, k
    do row = 1, rows
      call gather(field, [(k, k=1, n)], [(row, k=1, n)], seen)
      call forward(seen, active, change)
      later(:, row) = field(:, row) + unit*change
    end do
  end subroutine

  ! ---- around it --------------------------------------------------------------------------------------------

  real(real64) function sum_of(values)
    real(real64), intent(in) :: values(:, :)
    real(real64) :: own
    own = sum(values)
    call MPI_Allreduce(own, sum_of, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function

  !> Rank after rank appends its rows.
  subroutine write_fields(to)
    character(len=*), intent(in) :: to
    integer :: file, turn, i, j
    do turn = 0, ranks - 1
      if (turn == rank) then
        open (newunit=file, file=to//'/heat.dat', status=merge('replace', 'old    ', rank == 0), position='append')
        do j = 1, rows
          do i = 1, n
            write (file, '(2i5, 3es15.7)') i, n*rank/ranks + j, u(i, j), prediction(i, j), prediction(i, j) - u(i, j)
          end do
          write (file, *)
        end do
        close (file)
      end if
      call MPI_Barrier(MPI_COMM_WORLD)
    end do
  end subroutine

  function argument(number, otherwise) result(text)
    integer, intent(in) :: number
    character(len=*), intent(in) :: otherwise
    character(len=256) :: text
    text = otherwise
    if (command_argument_count() >= number) call get_command_argument(number, text)
  end function

  subroutine fail(why)
    character(len=*), intent(in) :: why
    write (error_unit, '(2a)') 'heat: ', trim(why)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program heat
